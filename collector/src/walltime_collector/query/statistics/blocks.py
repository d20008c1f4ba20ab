"""
Tests whether two groups of transactions differ in a mean or a share, from sums over blocks of neighbours in time.

Response times have heavy tails and neighbours are alike, so neither transactions nor raw sums can be compared:

- Blocks are exchanged, not transactions, and are joined while neighbours are correlated, by rank or by value. The
  p-value is that of a permutation test of blocks, by the normal approximation of its distribution.
  P. Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses" (2005), chapter 3.
- What the usual time does by itself for longer than a block (a busy machine, the time of day) is a variance component
  between stretches, where it is significant: a difference has to be large beside it as well. DerSimonian and Laird,
  Controlled Clinical Trials 7 (1986). A trend explains what goes on in its direction.
- The interval is Student's, of a ratio of sums over clusters. W. Cochran, "Sampling Techniques" (1977), 6.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from . import CHANCE
from .estimates import JOINED, ratio

Blocks = NDArray[np.float64]
"""Shape (blocks, 2), in the order of time: how many tries (transactions, calls), and their sum."""
FEWEST = 10
"""Transactions that a group must have for a test."""
FINEST_BLOCKS = 64
"""The smaller group is cut into so many blocks, or into its transactions."""
MOST_BLOCKS = 1024
"""More blocks of the larger group are joined."""
_FEWEST_BLOCKS, _MOST_COMPARED = 12, 24
"""A burst that fills one or two of so many can be chance, a third of them cannot."""
_BURST = 25
"""Transactions that one burst can have: with few of them on a side, neighbours are joined to fewer blocks."""
_NORMAL = NormalDist()
_STRETCHES = (4, 8, 16, 32)
_F = {4: 4.28, 8: 2.9, 16: 2.19, 32: 1.78}
"""The 99.5 % quantiles of F for so many stretches."""
_TREND = 1.64
"""Standard errors of a trend that counts."""
_INTERVAL = 0.98
"""Times are skewed: their interval of 95 % needs a little more than the 97.5 % quantile of Student's t."""


@dataclass(frozen=True)
class Tested:
    """A difference of two means (slow − usual), and what it is worth."""

    difference: float
    p_value: float
    drift: float
    """What the ups and downs of the usual time can make of a difference: see _drift; 0 when they are chance."""
    trend: float
    """By how much the usual time would have changed by now, had its trend gone on; 0 without one."""
    error: float
    """The standard error of the difference."""
    low: float
    """The true difference is above this, and below `high`, in 95 of 100 such samples."""
    high: float
    level: float = CHANCE
    """A p-value from here on is chance."""

    @property
    def is_drift(self) -> bool:
        """The usual time goes up and down as much by itself, or goes on as it did."""
        least = max(self.drift, self.trend if self.difference > 0 else -self.trend)
        return least > 0 and abs(self.difference) < least + 2 * self.error

    @property
    def is_chance(self) -> bool:
        """Chance, or what the usual time does by itself, is enough to explain it."""
        return self.p_value >= self.level or self.is_drift


def blocks(values: NDArray[np.float64], size: int) -> Blocks:
    """Cut values in the order of time into blocks of `size` or a little more."""
    number = max(len(values) // size, 1)
    starts = np.arange(number) * len(values) // number
    counts = np.diff(np.append(starts, len(values)))
    return np.column_stack([counts, np.add.reduceat(values, starts)]).astype(np.float64)


def compare(usual: Blocks, slow: Blocks, apart: float = 0.625, *, level: float = CHANCE) -> Tested:
    """Test the difference of the means of two groups; blocks of both have about equally many tries."""
    while len(usual) > MOST_BLOCKS:
        usual = _pairs(usual)
    slope = _slope(usual)
    drift, trend = _drift(usual, slope), slope * min(apart, 1.0)
    usual, slow = _uncorrelated(usual, slow)
    now, before = (
        ratio(group[:, 1], group[:, 0], JOINED if len(group) >= _FEWEST_BLOCKS else (1,)) for group in (slow, usual)
    )
    difference = now.minus(before)
    size, error = difference.size, difference.error
    reach = math.hypot(_student(_INTERVAL, difference.freedom) * error, 2 / 3 * drift)
    p_value = _p_value(usual, slow) if math.isfinite(error) else 1.0  # too few blocks to know how they vary
    return Tested(size, p_value, drift, trend, error, size - reach, size + reach, level)


def _mean(group: Blocks) -> float:
    count, total = group.sum(0)
    return float(total / count) if count else 0.0


def _student(level: float, freedom: float) -> float:
    """The quantile of Student's t: Cornish and Fisher's expansion (Abramowitz and Stegun 26.7.5)."""
    z = _NORMAL.inv_cdf(level)
    terms = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))


def _p_value(usual: Blocks, slow: Blocks) -> float:
    """How often blocks that are assigned at random differ as much; of few, no less than one way of assigning them."""
    both = np.concatenate([usual, slow])
    residuals = both[:, 1] - _mean(both) * both[:, 0]
    variance = float(residuals @ residuals) * len(slow) * len(usual) / (len(both) * max(len(both) - 1, 1))
    excess = abs(float(slow[:, 1].sum() - _mean(both) * slow[:, 0].sum()))
    if not variance:
        return 1.0
    return max(math.erfc(excess / math.sqrt(2 * variance)), 1 / math.comb(len(both), len(slow)))


def _drift(usual: Blocks, slope: float) -> float:
    """
    What the usual time goes up and down by for longer than a block beside its trend, beyond chance.

    Of each length of stretches: their standard deviation beyond that of independent blocks, when it is significant,
    times the quantile of Student's t for so few stretches. The largest counts.
    """
    at = np.linspace(-0.5, 0.5, len(usual))
    usual = np.column_stack([usual[:, 0], usual[:, 1] - slope * at * usual[:, 0]])
    found = 0.0
    for number in _STRETCHES:
        length = len(usual) // number
        if length < 2:
            break
        edges = np.arange(number) * len(usual) // number
        stretches = np.add.reduceat(usual, edges)
        means = stretches[:, 1] / np.maximum(stretches[:, 0], 1e-9)
        residuals = usual[:, 1] - _mean(usual) * usual[:, 0]
        within = float(residuals @ residuals) / (len(usual) - 1) * len(usual) / number / np.mean(stretches[:, 0]) ** 2
        between = float(np.var(means, ddof=1))
        if between > within * _F[number]:
            found = max(found, math.sqrt(between - within) * _student(1 - CHANCE / 2, number - 1))
    return found


def _slope(usual: Blocks) -> float:
    """How much higher the end of the usual time is than its beginning, by a straight line; 0 when that is chance."""
    if len(usual) < _FEWEST_BLOCKS:
        return 0.0
    at = np.linspace(-0.5, 0.5, len(usual))
    residuals = usual[:, 1] - _mean(usual) * usual[:, 0]
    weight = float(usual[:, 0].mean() * (at @ at))
    slope = float(at @ residuals) / weight
    error = math.sqrt(float(residuals @ residuals) / len(usual) * float(at @ at)) / weight
    return slope if abs(slope) > _TREND * error else 0.0


def _pairs(group: Blocks) -> Blocks:
    even = len(group) // 2 * 2
    pairs = group[0:even:2] + group[1:even:2]
    return np.concatenate([pairs, group[even:]])


def _uncorrelated(usual: Blocks, slow: Blocks) -> tuple[Blocks, Blocks]:
    """
    Join neighbours until consecutive blocks of neither side are correlated any more.

    A side that is slower as a whole is not correlated; one with a burst is, and then the burst counts once.
    """
    fewest = min(max(int(slow[:, 0].sum()) // _BURST, _FEWEST_BLOCKS // 4), _FEWEST_BLOCKS)
    while (fewer := min(len(usual), len(slow))) >= 2 * fewest and (
        fewer > _MOST_COMPARED or _are_alike(usual) or _are_alike(slow)
    ):
        usual, slow = _pairs(usual), _pairs(slow)
    return usual, slow


def _are_alike(group: Blocks) -> bool:
    """Whether neighbours are correlated: by the ranks of their means, or by the means, which a burst decides."""
    means = group[:, 1] / np.maximum(group[:, 0], 1e-9)
    _, rank, times = np.unique(means, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - times / 2)[rank]
    apart = np.array([ranks - ranks.mean(), means - means.mean()])
    squares = np.maximum((apart**2).sum(1), 1e-300)  # 0 where all are equal
    return bool(((apart[:, :-1] * apart[:, 1:]).sum(1) / squares).max() > 1.7 / math.sqrt(len(group)))
