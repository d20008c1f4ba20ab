"""
Numbers of a sample whose members stand for different numbers of others, because their probabilities differed.

L. Kish, "Survey Sampling" (1965), 11.7: so many members of equal weights would say as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def effective(weights: Sequence[float] | NDArray[Any]) -> float:
    """How many members of equal weights say as much: 1 where a single one has nearly all the weight."""
    masses = np.asarray(weights, float)
    whole = float(masses.sum())
    return whole**2 / float(masses @ masses) if whole > 1e-9 else 0.0


def median(weighed: Sequence[tuple[float, float]]) -> float:
    """Of pairs of a value and its weight; 0 of none."""
    reached, half = 0.0, sum(weight for _, weight in weighed) / 2
    for value, weight in sorted(weighed):
        reached += weight
        if reached >= half:
            return value
    return 0.0
