"""
What is usual of a mean or a share, from samples of the past, and whether a new sample is above it beyond chance.

Medians and their distances, which bad samples do not change. P. Rousseeuw and C. Croux, "Alternatives to the Median
Absolute Deviation", JASA 88 (1993). docs/decisions/038-incidents.md has the formulas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from .counts import exceeds

FEWEST_SAMPLES = 5
_FALSE_A_WEEK = 0.1
"""So many false incidents are expected in a week when nothing changes, over all kinds and measures together."""
_WEEK_S = 604_800
_NORMAL = 1.4826
"""The median distance from the median, times this, is the standard deviation of a normal distribution."""
_TAILS = 1.5
"""So many times the deviations of a normal distribution are needed: means of durations have longer tails, and drift."""
_LEAST_SPREAD = 0.05
"""Of a logarithm: no mean is known better than to 5 %."""
_TINY = 1e-9
"""Has a logarithm where 0 calls are usual."""
Sample = tuple[float, float]
"""How many (transactions, lookups), and their sum."""


@dataclass(frozen=True)
class Usual:
    """The samples of the past: the median of their values, and how wide they vary."""

    level: float
    is_mean: bool
    """Of time or calls; otherwise a share, as of errors."""
    spread: float
    """Of means: the standard deviation of the logarithm for one try. Of shares: their own standard deviation."""
    samples: int
    tries: float
    """Of all samples."""
    largest: float
    """The tries of the largest sample."""


def chance_of_a_look(series: int, look_s: float) -> float:
    """How unlikely a change must be by chance in each of two looks running, when so many series are tested in each."""
    return math.sqrt(_FALSE_A_WEEK * look_s / (_WEEK_S * max(series, 1)))


def usual(samples: NDArray[np.float64], *, is_mean: bool) -> Usual | None:
    """
    What is usual of a mean, as time per transaction, or of a share, as errors; None when there are too few samples.

    Args:
        samples: Shape (samples, 2): tries, and their sum.
    """
    tries, totals = samples[samples[:, 0] > 0].T
    if len(tries) < FEWEST_SAMPLES:
        return None
    values = totals / tries
    level = float(np.median(values))
    distances = (
        np.abs(np.log((values + _TINY) / (level + _TINY))) * np.sqrt(tries) if is_mean else np.abs(values - level)
    )
    return Usual(
        level, is_mean, _NORMAL * float(np.median(distances)), len(tries), float(tries.sum()), float(tries.max())
    )


def is_higher(value: float, tries: float, usual: Usual, chance: float) -> bool:
    """
    Whether a value is above the usual ones beyond chance.

    A mean by a robust z-test of the logarithm; a share by Chernoff's bound, also above the less usual ones.

    Args:
        tries: Those that are independent: the lookups of one transaction are not.
    """
    if not usual.is_mean:
        expected = min(max(usual.level + 3 * usual.spread, 1 / usual.tries), 1 - 1 / usual.tries)
        return exceeds(value, expected, tries, chance)
    deviation = max(usual.spread / math.sqrt(min(tries, usual.largest)), _LEAST_SPREAD)
    # few samples: their spread is uncertain too
    needed = _TAILS * NormalDist().inv_cdf(1 - chance) * (1 + 3 / usual.samples)
    return math.log((value + _TINY) / (usual.level + _TINY)) >= needed * deviation
