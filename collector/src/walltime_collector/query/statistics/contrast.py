"""
Compares means and shares from sums over blocks of time; neighbours in time are alike, transactions are not independent.

The blocks are clusters of a ratio estimate: W. G. Cochran, "Sampling Techniques", 3rd ed. (1977), chapters 6 and 9A.
The weights of a contrast within blocks: N. Mantel and W. Haenszel, J. Nat. Cancer Inst. 22 (1959). Degrees of freedom
of a difference: B. L. Welch, Biometrika 34 (1947).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Sums: TypeAlias = NDArray[np.float64]
"""A number for each block."""
BLOCKS = 32
"""Each window is cut into so many blocks of equal time."""
_JOINED = (1, 2)
"""The variance is that of blocks, or of pairs of blocks: the larger one counts."""
_JOINED_SHARES = (*_JOINED, 4)
"""Shares change for longer: who comes does so for a while."""


@dataclass(frozen=True)
class Estimate:
    """A mean, a share or a difference, and its standard error."""

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

    def since(self, usual: Estimate, length: float, scale: float = 1.0) -> Estimate:
        """
        The change: this minus `scale` times the usual one.

        What comes in bursts (a crawler, for two minutes) may be everywhere in a short window and still be usual. So the
        error of this is at least that of a piece of the usual time that is as long.

        Args:
            length: Of the usual time as a multiple of the length of this one.
        """
        usual_error = scale * usual.error
        borrowed = usual_error * math.sqrt(min(length, BLOCKS))
        now = self if self.error >= borrowed else replace(self, error=borrowed, freedom=usual.freedom)
        whole, freedom = now.error**2 + usual_error**2, 1.0
        if 0 < whole < math.inf:
            freedom = whole**2 / (now.error**4 / now.freedom + usual_error**4 / usual.freedom)
        return Estimate(self.size - scale * usual.size, math.sqrt(whole), freedom)


def p_value(strength: float) -> float:
    """Of so many standard deviations, in both directions."""
    return math.erfc(strength / math.sqrt(2))


def share(part: Sums, whole: Sums) -> Estimate:
    """Of transactions."""
    return ratio(part, whole, _JOINED_SHARES)


def ratio(amounts: Sums, weights: Sums, joined: Sequence[int] = _JOINED) -> Estimate:
    """Σ amounts / Σ weights; the blocks, or some of them together, are independent."""
    whole = float(weights.sum())
    if not whole:
        return Estimate(0.0)
    size = float(amounts.sum()) / whole
    errors = []
    for blocks in joined:
        residuals, masses = (_joined(each, blocks) for each in (amounts - size * weights, weights))
        effective = whole * whole / float((masses**2).sum())
        if effective < 2:
            return Estimate(size)
        errors.append((math.sqrt(float((residuals**2).sum()) * effective / (effective - 1)) / whole, effective - 1))
    error, freedom = max(errors)
    return Estimate(size, error, max(freedom, errors[1][1]))  # of four blocks, seven degrees say too little


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


def _joined(sums: Sums, blocks: int) -> Sums:
    return np.add.reduceat(sums, np.arange(0, len(sums), blocks))
