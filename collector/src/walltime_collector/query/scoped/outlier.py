"""Finds the part of a window in which transactions took longest compared with the rest of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..statistics.around import around
from ..timeline import Timeline
from .distribution import Distribution

_FEWEST_STEPS = 6
_FEWEST_TRANSACTIONS = 10
"""Of a step; others are not judged."""
_LEAST_RATIO = 1.25
_LEAST_SCORE = 4.0
_NORMAL = 1.4826
"""The median distance from the median, times this, is the standard deviation of a normal distribution."""
_S = 1_000_000_000
_Sums = NDArray[Any]


@dataclass(frozen=True)
class Outlier:
    """Neighbouring steps whose transactions took longer than usual, beyond their spread."""

    start_ns: int
    end_ns: int
    transactions: int
    mean_ns: float
    usual_mean_ns: float
    """The median of the means of all steps."""


def outlier(known: Distribution) -> Outlier | None:
    """The steps that stand out most; None when none does, or there are too few to compare with."""
    cells = np.array([(each.step, each.transactions, each.total_ns) for each in known.cells], float).reshape(-1, 3)
    at, (transactions, total_ns) = cells[:, 0].astype(int), cells[:, 1:].T
    sums = (transactions, total_ns, total_ns**2 / transactions)  # the durations of a bin are nearly equal
    return _outlier(known.start_ns, known.step_s, *(np.bincount(at, each, known.steps) for each in sums))


def outlier_over_time(known: Timeline) -> Outlier | None:
    """The same of a timeline, by the means of its steps alone."""
    transactions, total_ns = np.array(known.transactions, float), np.array(known.time_ns, float)
    squares = total_ns**2 / np.maximum(transactions, 1)
    return _outlier(known.start_ns, known.step_s, transactions, total_ns, squares)


def _outlier(start_ns: int, step_s: int, transactions: _Sums, total_ns: _Sums, squares: _Sums) -> Outlier | None:
    """Each sum has a value for each step; `squares` are of the durations."""
    is_judged = transactions >= _FEWEST_TRANSACTIONS
    if is_judged.sum() < _FEWEST_STEPS:
        return None
    count = np.maximum(transactions, 1)
    mean_ns = np.where(is_judged, total_ns / count, np.nan)
    usual_ns = np.nanmedian(mean_ns)
    spread_ns = _NORMAL * np.nanmedian(abs(mean_ns - usual_ns))
    variance_of_mean = np.maximum(squares / count - mean_ns**2, 0) / count
    score = (mean_ns - usual_ns) / np.sqrt(spread_ns**2 + variance_of_mean + 1)
    peak = int(np.nanargmax(score))
    if score[peak] < _LEAST_SCORE or mean_ns[peak] < _LEAST_RATIO * usual_ns:
        return None
    first, last = around(peak, mean_ns >= usual_ns + (mean_ns[peak] - usual_ns) / 3, is_judged)
    of_part = transactions[first : last + 1].sum()
    return Outlier(
        start_ns=start_ns + first * step_s * _S,
        end_ns=start_ns + (last + 1) * step_s * _S,
        transactions=int(of_part),
        mean_ns=float(total_ns[first : last + 1].sum() / of_part),
        usual_mean_ns=float(usual_ns),
    )
