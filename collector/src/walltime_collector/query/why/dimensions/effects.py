"""What one value of a dimension (a host, a user) explains of a difference, and its p-value: see decision 037."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...statistics import SUPPORT
from ...statistics.estimates import Estimate, contrast, p_value, ratio, share

TIME, CAPPED, LOGARITHM = 1, 2, 3
"""Rows of a table of sums, after the transactions: their times, times up to a bound, logarithms of the times."""
SUMS = ("number", "total_ns", "capped_ns", "logarithms")


@dataclass(frozen=True)
class Side:
    """A population: a row of sums for each of SUMS, a column for each block of time."""

    own: NDArray[np.float64]
    """Of its transactions that have the value."""
    all: NDArray[np.float64]

    @property
    def rest(self) -> NDArray[np.float64]:
        """Of those without it."""
        return self.all - self.own

    @property
    def share(self) -> float:
        """Of those with the value."""
        return count(self.own) / max(count(self.all), 1)

    def mean(self, row: int = CAPPED) -> Estimate:
        """Of all transactions."""
        return ratio(self.all[row], self.all[0])

    def contrast(self, row: int = CAPPED) -> Estimate:
        """By how much those with the value are above the rest."""
        return contrast(self.own[0], self.own[row], self.all[0], self.all[row])


def count(sums: NDArray[np.float64]) -> float:
    """Transactions."""
    return float(sums[0].sum())


def mean_ns(sums: NDArray[np.float64]) -> float:
    """Per transaction; 0 without any."""
    return float(sums[1].sum()) / (count(sums) or 1.0)


@dataclass(frozen=True)
class Effect:
    """
    A part of the difference in nanoseconds per transaction; the p-value is not corrected.

    `strength` orders values of which one is the cause, and others only share its transactions.
    """

    ns: float = 0.0
    p_value: float = 1.0
    strength: float = 0.0


NONE = Effect()


def of_part(usual: Side, slow: Side) -> tuple[Effect, Effect]:
    """
    Why those with the value are in a part (the slowest) more often than others: as `more`, or `slower` by mean.

    It explains those which would not be in it if transactions with the value were in it as rarely as the rest.
    """
    both = Side(usual.own + slow.own, usual.all + slow.all)
    if min(count(both.own), count(both.rest)) < SUPPORT or not count(slow.own):
        return NONE, NONE
    slow_part, rest_part = (count(one) / count(two) for one, two in ((slow.own, both.own), (slow.rest, both.rest)))
    test = contrast(both.own[0], slow.own[0], both.all[0], slow.all[0])
    expected = float((both.own[0] * slow.all[0] / np.maximum(both.all[0], 1)).sum())
    # counts are not normal when few are expected: the square root makes them so
    strength = min(test.strength, 2 * abs(math.sqrt(count(slow.own)) - math.sqrt(expected)))
    excess_ns = slow.share * (1 - rest_part / slow_part) * (mean_ns(slow.all) - mean_ns(usual.all))
    effect = Effect(excess_ns, p_value(strength), strength)
    return (NONE, effect) if both.contrast().size > 0 else (effect, NONE)


def more(usual: Side, slow: Side, length: float) -> Effect:
    """
    The part because the share changed: (share − usual share) · (usual mean − usual mean of the rest).

    Both the share and the usual times must differ beyond chance. A new value is compared with the rest of its own time.

    Args:
        length: Of the usual window as a multiple of the length of the slow one.
    """
    of = usual if count(usual.own) >= SUPPORT else slow
    if min(count(of.own), count(of.rest), count(usual.rest)) < SUPPORT:
        return NONE
    now, before = (share(each.own[0], each.all[0]) for each in (slow, usual))
    by_share, by_times = now.since(before, length), _apart(of)
    part_ns = (slow.share - usual.share) * (mean_ns(of.own) - mean_ns(of.rest))
    return Effect(part_ns, max(by_share.p_value, by_times.p_value), min(by_share.strength, by_times.strength))


def slower(usual: Side, slow: Side, length: float) -> Effect:
    """
    The part because it became slower: share · (mean − the mean that they would have if they had changed like the rest).

    Like the rest is by as many milliseconds or by the same factor, whichever explains more. A new value is compared
    with the rest of its own time.
    """
    if min(count(slow.own), count(slow.rest), count(usual.rest)) < SUPPORT:
        return NONE
    if count(usual.own) < SUPPORT:
        return replace(_apart(slow), ns=slow.share * (mean_ns(slow.own) - mean_ns(slow.rest)))
    rest_ns, usual_rest_ns, usual_ns = mean_ns(slow.rest), mean_ns(usual.rest), mean_ns(usual.own)
    factor, shift_ns = rest_ns / usual_rest_ns, rest_ns - usual_rest_ns
    by_sum, by_factor = (mean_ns(slow.own) - expected for expected in (usual_ns + shift_ns, usual_ns * factor))
    ns = slow.share * min(by_sum, by_factor, key=abs) if by_sum * by_factor > 0 else 0.0
    by_times = [slow.contrast().since(usual.contrast(), length, scale) for scale in (1.0, factor)]
    # the same factor does not change logarithms, the same shift does
    change = slow.contrast(LOGARITHM).since(usual.contrast(LOGARITHM), length)
    shifted = math.log(max(1 + shift_ns / usual_ns, 1e-9) / factor)
    by_logarithms = [replace(change, size=change.size - expected) for expected in (0.0, shifted)]
    return _either(ns, by_times, by_logarithms)


def _apart(side: Side) -> Effect:
    """How clearly the times and the rest's differ."""
    own_ns = mean_ns(side.own) - mean_ns(side.rest)
    return _either(own_ns, [side.contrast()], [side.contrast(LOGARITHM)])


def _either(ns: float, *tests: Sequence[Estimate]) -> Effect:
    """
    By the sums of the times or by their logarithms, whichever is clearer; each by its weakest test.

    A new process begins with a few very long transactions, which hide all others in the sums of the times.
    """
    strength = max(min(each.strength if each.size * ns > 0 else 0.0 for each in some) for some in tests)
    return Effect(ns, min(len(tests) * p_value(strength), 1.0), strength)
