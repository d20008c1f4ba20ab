"""Finds when a server was much worse than in the rest of a window: its hit ratio, its time per call, its errors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from statistics import median

from ..components import Sums
from ..scope import Steps
from ..statistics.shares import exceeds
from .answer import Measure, Moment, ratio

_LEAST_CALLS = 10
"""A step with fewer says nothing."""
_LEAST_STEPS = 3
_LEAST_DIFFERENCE = 0.05
"""Of a hit ratio or a share of errors."""
_CHANCE = 1e-7
"""That chance alone makes a step so bad."""
_SLOWER = 1.5
_SPREADS = 5.0
"""A step is slow when its mean is so many widths of the better half of the steps above the usual one."""
_LEAST_SLOWER_NS = 50_000


@dataclass(frozen=True)
class _Of:
    """How one measure is computed and judged."""

    measure: Measure
    value: Callable[[Sums], float | None]
    is_worse: Callable[[float, float, float, Sums], bool]
    """Given the value of a step, the usual one, how wide the better half of the steps is, and the step's sums."""
    lowest_is_worst: bool = False


def moments(sums: Sequence[Sums], steps: Steps) -> tuple[Moment, ...]:
    """The worst time by each measure, where there is one."""
    return tuple(moment for of in _MEASURES if (moment := _moment(of, sums, steps)))


def _moment(of: _Of, sums: Sequence[Sums], steps: Steps) -> Moment | None:
    """What is usual comes from the better half of the steps: the other half may be bad."""
    values = [of.value(each) if each.calls >= _LEAST_CALLS else None for each in sums]
    known = [value for value in values if value is not None]
    if len(known) < _LEAST_STEPS:
        return None
    best = sorted(known, reverse=of.lowest_is_worst)[: (len(known) + 1) // 2]
    usual = median(best)
    spread = abs(best[-1] - best[0])
    worse = {
        at: value
        for at, (value, each) in enumerate(zip(values, sums, strict=True))
        if value is not None and of.is_worse(value, usual, spread, each)
    }
    _leave_out_the_start(worse, values)
    if not worse:
        return None
    worst = (min if of.lowest_is_worst else max)(worse, key=lambda at: worse[at])
    first, last = _around(worse, values, worst)
    is_over = any(value is not None for value in values[last + 1 :])
    return Moment(of.measure, steps.at_ns(first), steps.at_ns(last + 1), is_over, worse[worst], usual)


def _leave_out_the_start(worse: dict[int, float], values: Sequence[float | None]) -> None:
    """A server that was first called inside of the window starts cold: it became no worse."""
    known = [at for at, value in enumerate(values) if value is not None]
    if known[0] > 1:
        for at in known:
            if worse.pop(at, None) is None:
                break


def _around(worse: Collection[int], values: Sequence[float | None], worst: int) -> tuple[int, int]:
    """The first and the last step of the bad time around the worst one; steps that say nothing do not end it."""
    ends = []
    for direction in (-1, 1):
        end = at = worst
        while 0 <= at < len(values) and (at in worse or values[at] is None):
            end = at if at in worse else end
            at += direction
        ends.append(end)
    return ends[0], ends[1]


def _misses_more(value: float, usual: float, _: float, sums: Sums) -> bool:
    return _is_more(1 - value, 1 - usual, sums.hits + sums.misses)


def _fails_more(value: float, usual: float, _: float, sums: Sums) -> bool:
    return _is_more(value, usual, sums.calls)


def _is_more(share: float, usual: float, tries: int) -> bool:
    expected = min(max(usual, 1 / tries), 1 - 1 / tries)
    return share - usual >= _LEAST_DIFFERENCE and exceeds(share, expected, tries, _CHANCE)


def _is_slower(value: float, usual: float, spread: float, _: Sums) -> bool:
    return value >= usual * _SLOWER and value - usual >= max(_SPREADS * spread, _LEAST_SLOWER_NS)


_MEASURES = (
    _Of("hit_ratio", lambda each: ratio(each.hits, each.misses), _misses_more, lowest_is_worst=True),
    _Of("time_per_call", lambda each: each.time_ns / each.calls if each.calls else None, _is_slower),
    _Of("errors_per_call", lambda each: each.errors / each.calls if each.calls else None, _fails_more),
)
