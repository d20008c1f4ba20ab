"""Finds when a server was much worse than in the rest of a window: its hit ratio, its time per call, its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..components import SUMMED, Sums
from ..scope import Steps
from ..statistics.around import around
from ..statistics.counts import exceeds
from .answer import Measure, Moment

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
_Numbers = NDArray[np.float64]
_MEASURES: Mapping[Measure, tuple[str, tuple[str, ...]]] = {
    "hit_ratio": ("misses", ("hits", "misses")),
    "time_per_call": ("time_ns", ("calls",)),
    "errors_per_call": ("errors", ("calls",)),
}
"""What is bad, and of how many: the sums of a server that are divided."""


def moments(sums: Sequence[Sums], steps: Steps) -> tuple[Moment, ...]:
    """The worst time by each measure, where there is one."""
    columns = {name: np.array([getattr(each, name) for each in sums], float) for name in SUMMED}
    found = []
    for measure, (bad, of) in _MEASURES.items():
        tries = np.sum([columns[name] for name in of], axis=0)
        is_known = (columns["calls"] >= _LEAST_CALLS) & (tries > 0)
        found.append(_moment(measure, columns[bad], tries, is_known, steps))
    return tuple(moment for moment in found if moment)


def _moment(
    measure: Measure, bad: _Numbers, tries: _Numbers, is_known: NDArray[np.bool_], steps: Steps
) -> Moment | None:
    """What is usual comes from the better half of the steps: the other half may be bad."""
    known = np.flatnonzero(is_known)
    if len(known) < _LEAST_STEPS:
        return None
    values = np.where(is_known, bad / np.maximum(tries, 1), 0.0)
    best = np.sort(values[is_known])[: (len(known) + 1) // 2]
    usual = float(np.median(best))
    if measure == "time_per_call":
        least_ns = max(_SPREADS * (best[-1] - best[0]), _LEAST_SLOWER_NS)
        is_worse = is_known & (values >= usual * _SLOWER) & (values - usual >= least_ns)
    else:
        is_worse = is_known & np.array([_is_more(*each, usual) for each in zip(values, tries, strict=True)])
    if known[0] > 1:  # it was first called inside of the window and starts cold: it became no worse
        is_worse[: np.append(np.flatnonzero(is_known & ~is_worse), len(values))[0]] = False
    if not is_worse.any():
        return None
    worst = int(np.argmax(np.where(is_worse, values, -1)))
    first, last = around(worst, is_worse, is_known)
    value = float(values[worst])
    if measure == "hit_ratio":
        value, usual = float((tries[worst] - bad[worst]) / tries[worst]), 1 - usual
    is_over = bool(known[-1] > last)
    return Moment(measure, steps.at_ns(first), steps.at_ns(last + 1), is_over, value, usual)


def _is_more(share: float, tries: float, usual: float) -> bool:
    expected = min(max(usual, 1 / max(tries, 2)), 1 - 1 / max(tries, 2))
    return share - usual >= _LEAST_DIFFERENCE and exceeds(share, expected, tries, _CHANCE)
