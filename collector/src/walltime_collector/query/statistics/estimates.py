"""
Numbers with their standard errors: means, shares and slopes, where neighbours in time may be alike, and differences.

Blocks of time are clusters of a ratio estimate: W. G. Cochran, "Sampling Techniques", 3rd ed. (1977), chapters 6 and
9A. The weights of a contrast within blocks: N. Mantel and W. Haenszel, J. Nat. Cancer Inst. 22 (1959). Differences: B.
L. Welch, Biometrika 34 (1947). A slope compares only inside of groups (fixed effects, Frisch and Waugh 1933); its error
is that of clusters: K.-Y. Liang and S. Zeger, Biometrika 73 (1986), with the correction for few of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .weighted import effective

Sums: TypeAlias = NDArray[np.float64]
"""A number for each block."""
BLOCKS = 32
"""Each window is cut into so many blocks of equal time."""
JOINED = (1, 2)
"""The variance is that of blocks, or of pairs of blocks: the larger one counts."""
_JOINED_SHARES = (*JOINED, 4)
"""Shares change for longer: who comes does so for a while."""
_FEWEST_CLUSTERS = 8.0


@dataclass(frozen=True)
class Estimate:
    """A mean, a share, a slope or a difference, and its standard error."""

    size: float
    error: float = math.inf
    freedom: float = 1.0
    """Degrees of freedom of the error."""

    @property
    def strength(self) -> float:
        """Student's t as standard deviations of a normal distribution (D. L. Wallace, Ann. Math. Stat. 30, 1959)."""
        if self.error == 0:
            return math.inf if self.size else 0.0
        t = self.size / self.error
        if math.isinf(self.freedom):
            return abs(t)
        factor = (8 * self.freedom + 1) / (8 * self.freedom + 3)
        return factor * math.sqrt(self.freedom * math.log1p(t * t / self.freedom))

    @property
    def relative_error(self) -> float | None:
        """As a part of it; None when it is unknown."""
        return self.error / self.size if self.size and math.isfinite(self.error) else None

    @property
    def p_value(self) -> float:
        """That it is not 0, of both directions."""
        return p_value(self.strength)

    def minus(self, other: Estimate) -> Estimate:
        """The difference; the two are independent."""
        whole, freedom = self.error**2 + other.error**2, 1.0
        if 0 < whole < math.inf:
            freedom = whole**2 / (self.error**4 / self.freedom + other.error**4 / other.freedom)
        return Estimate(self.size - other.size, math.sqrt(whole), freedom)

    def since(self, usual: Estimate, length: float, scale: float = 1.0) -> Estimate:
        """
        The change: this minus `scale` times the usual one.

        What comes in bursts (a crawler, for two minutes) may be everywhere in a short window and still be usual. So the
        error of this is at least that of a piece of the usual time that is as long.

        Args:
            length: Of the usual time as a multiple of the length of this one.
        """
        before = Estimate(scale * usual.size, scale * usual.error, usual.freedom)
        borrowed = before.error * math.sqrt(min(length, BLOCKS))
        now = self if self.error >= borrowed else replace(self, error=borrowed, freedom=usual.freedom)
        return now.minus(before)


def p_value(strength: float) -> float:
    """Of so many standard deviations, in both directions."""
    return math.erfc(strength / math.sqrt(2))


def share(part: Sums, whole: Sums) -> Estimate:
    """Of transactions."""
    return ratio(part, whole, _JOINED_SHARES)


def ratio(amounts: Sums, weights: Sums, joined: Sequence[int] = JOINED) -> Estimate:
    """Σ amounts / Σ weights; the blocks, or some of them together, are independent."""
    whole = float(weights.sum())
    if not whole:
        return Estimate(0.0)
    size = float(amounts.sum()) / whole
    errors = []
    for blocks in joined:
        starts = np.arange(0, len(weights), blocks)
        residuals, masses = (np.add.reduceat(each, starts) for each in (amounts - size * weights, weights))
        freedom = effective(masses) - 1
        if freedom < 1:
            return Estimate(size)
        errors.append((math.sqrt(float(residuals @ residuals) * (1 + 1 / freedom)) / whole, freedom))
    error, freedom = max(errors)
    return Estimate(size, error, max(freedom, errors[:2][-1][1]))  # of four blocks, seven degrees say too little


def contrast(own: Sums, own_sum: Sums, every: Sums, every_sum: Sums) -> Estimate:
    """
    By how much the mean of a group is above that of the rest, each block compared with itself.

    What changes for all from block to block (load, noise of the machine) cancels.

    Args:
        own: Transactions of the group, with their sum `own_sum`.
        every: All transactions, those of the group too, with their sum `every_sum`.
    """
    part = own / np.maximum(every, 1e-9)  # a block without one of the two has no weight
    return ratio(np.where(own < every, own_sum - part * every_sum, 0.0), part * (every - own))


def difference(usual: tuple[float, float, int], slow: tuple[float, float, int]) -> Estimate:
    """
    Of two means of independent transactions, each as (mean, variance of single transactions, transactions).

    Where nearly all values are zero, a side with no others by chance has no variance: then that of both sides together
    counts, as in a test of equal groups.
    """
    (before, usual_variance, usual_n), (now, slow_variance, slow_n) = usual, slow
    apart = usual_variance / usual_n + slow_variance / slow_n
    pooled = (usual_variance * usual_n + slow_variance * slow_n) / (usual_n + slow_n) * (1 / usual_n + 1 / slow_n)
    return Estimate(now - before, math.sqrt(max(apart, pooled)), math.inf)


def slope(x: Sums, y: Sums, groups: NDArray[np.int64], clusters: NDArray[np.int64]) -> Estimate:
    """
    Of y for one more x: the least-squares slope inside the groups; unknown when too little varies inside of them.

    Args:
        groups: The label of each value's group, from 0; `clusters` likewise.
    """
    sizes = np.maximum(np.bincount(groups), 1)
    inside_x, inside_y = (each - (np.bincount(groups, each) / sizes)[groups] for each in (x, y))
    weights = np.bincount(clusters, inside_x * inside_x)
    whole, freedom = float(weights.sum()), effective(weights) - 1
    if freedom < _FEWEST_CLUSTERS - 1:
        if np.count_nonzero(weights) <= _FEWEST_CLUSTERS:
            return Estimate(0.0)
        # one moment at which x jumps outweighs all others: without it; x alone chooses what is left out
        left = clusters != weights.argmax()
        return slope(x[left], y[left], groups[left], clusters[left])
    size = float(inside_x @ inside_y) / whole
    residuals = np.bincount(clusters, inside_x * (inside_y - size * inside_x))
    return Estimate(size, math.sqrt(float(residuals @ residuals) * (1 + 1 / freedom)) / whole, freedom)
