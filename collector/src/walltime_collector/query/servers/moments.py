"""Finds when a server was much worse than in the rest of a window: its hit ratio, its time per call, its errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median

from ..components import Sums
from ..scope import Steps
from .answer import Measure, Moment, ratio

_LEAST_CALLS = 10
"""A step with fewer says nothing."""
_LEAST_STEPS = 4
_LEAST_DIFFERENCE = 0.05
"""Of a hit ratio or a share of errors."""
_CHANCE = 1e-7
"""That chance alone makes a step so bad."""
_SLOWER = 1.5
_LEAST_SLOWER_NS = 50_000


def moments(sums: Sequence[Sums], steps: Steps) -> tuple[Moment, ...]:
    """The worst time by each measure, where there is one."""
    measures: tuple[tuple[Measure, Callable[[Sums], float | None], Callable[[float, float, Sums], bool], int], ...] = (
        ("hit_ratio", lambda each: ratio(each.hits, each.misses), _misses_more, -1),
        ("time_per_call", lambda each: each.time_ns / each.calls if each.calls else None, _is_slower, 1),
        ("errors_per_call", lambda each: each.errors / each.calls if each.calls else None, _fails_more, 1),
    )
    matches = []
    for measure, value_of, is_worse, direction in measures:
        values = [value_of(each) if each.calls >= _LEAST_CALLS else None for each in sums]
        known = [value for value in values if value is not None]
        if len(known) < _LEAST_STEPS:
            continue
        usual = median(known)
        worse = [value is not None and is_worse(value, usual, each) for value, each in zip(values, sums, strict=True)]
        if not any(worse):
            continue
        worst = max((at for at, flag in enumerate(worse) if flag), key=lambda at: (values[at] or 0.0) * direction)
        first, last = _around(worse, values, worst)
        is_over = any(value is not None for value in values[last + 1 :])
        value = values[worst] or 0.0
        matches.append(Moment(measure, steps.at_ns(first), steps.at_ns(last + 1), is_over, value, usual))
    return tuple(matches)


def _around(worse: Sequence[bool], values: Sequence[float | None], worst: int) -> tuple[int, int]:
    """The first and the last step of the bad time around the worst one; steps that say nothing do not end it."""
    ends = []
    for direction in (-1, 1):
        end = at = worst
        while 0 <= at < len(worse) and (worse[at] or values[at] is None):
            end = at if worse[at] else end
            at += direction
        ends.append(end)
    return ends[0], ends[1]


def _misses_more(value: float, usual: float, sums: Sums) -> bool:
    return _is_more(1 - value, 1 - usual, sums.hits + sums.misses)


def _fails_more(value: float, usual: float, sums: Sums) -> bool:
    return _is_more(value, usual, sums.calls)


def _is_more(share: float, usual: float, tries: int) -> bool:
    """Whether it is more than chance explains (Chernoff's bound)."""
    if share - usual < _LEAST_DIFFERENCE:
        return False
    expected = min(max(usual, 1 / tries), 1 - 1 / tries)
    divergence = share * math.log(share / expected)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - expected))
    return tries * divergence >= -math.log(_CHANCE)


def _is_slower(value: float, usual: float, _: Sums) -> bool:
    return value >= usual * _SLOWER and value - usual >= _LEAST_SLOWER_NS
