"""Finds the part of a window in which transactions took longest compared with the rest of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

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


@dataclass(frozen=True)
class Outlier:
    """Neighbouring steps whose transactions took longer than usual, beyond their spread."""

    start_ns: int
    end_ns: int
    transactions: int
    mean_ns: float
    usual_mean_ns: float
    """The median of the means of all steps."""


@dataclass
class _Step:
    transactions: int = 0
    total_ns: int = 0
    squares: float = 0.0

    @property
    def mean_ns(self) -> float:
        return self.total_ns / self.transactions

    @property
    def variance_of_mean(self) -> float:
        return max(self.squares / self.transactions - self.mean_ns**2, 0.0) / self.transactions


def outlier(known: Distribution) -> Outlier | None:
    """The steps that stand out most; None when none does, or there are too few to compare with."""
    steps: dict[int, _Step] = {}
    for cell in known.cells:
        step = steps.setdefault(cell.step, _Step())
        step.transactions += cell.transactions
        step.total_ns += cell.total_ns
        step.squares += cell.total_ns**2 / cell.transactions  # the durations of a bin are nearly equal
    return _outlier(steps, known.start_ns, known.step_s)


def outlier_over_time(known: Timeline) -> Outlier | None:
    """The same of a timeline, by the means of its steps alone."""
    steps = {
        at: _Step(transactions, total_ns, total_ns**2 / transactions)
        for at, (transactions, total_ns) in enumerate(zip(known.transactions, known.time_ns, strict=True))
        if transactions
    }
    return _outlier(steps, known.start_ns, known.step_s)


def _outlier(steps: Mapping[int, _Step], start_ns: int, step_s: int) -> Outlier | None:
    judged = {at: step for at, step in steps.items() if step.transactions >= _FEWEST_TRANSACTIONS}
    if len(judged) < _FEWEST_STEPS:
        return None
    usual_ns = median(step.mean_ns for step in judged.values())
    spread_ns = _NORMAL * median(abs(step.mean_ns - usual_ns) for step in judged.values())

    def score(at: int) -> float:
        return (judged[at].mean_ns - usual_ns) / math.sqrt(spread_ns**2 + judged[at].variance_of_mean + 1)

    peak = max(judged, key=score)
    if score(peak) < _LEAST_SCORE or judged[peak].mean_ns < _LEAST_RATIO * usual_ns:
        return None
    enough_ns = usual_ns + (judged[peak].mean_ns - usual_ns) / 3
    first = last = peak
    while first - 1 in judged and judged[first - 1].mean_ns >= enough_ns:
        first -= 1
    while last + 1 in judged and judged[last + 1].mean_ns >= enough_ns:
        last += 1
    part = [judged[at] for at in range(first, last + 1)]
    transactions = sum(each.transactions for each in part)
    step_ns = step_s * _S
    return Outlier(
        start_ns=start_ns + first * step_ns,
        end_ns=start_ns + (last + 1) * step_ns,
        transactions=transactions,
        mean_ns=sum(each.total_ns for each in part) / transactions,
        usual_mean_ns=usual_ns,
    )
