"""
Tells a few very long transactions from the typical ones, so that they are spoken of apart.

A side's bound is _TIMES times the duration that at least 95 of 100 of its transactions do not exceed: the mean below it
is a trimmed mean that trims nothing where there is nothing odd, and at most 5 %. Tukey's fences with a quantile further
out, because durations are skewed. J. Tukey, "Exploratory Data Analysis" (1977), 2D.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .blocks import Tested

_MOST = 0.05
_TIMES = 4.0
_NOTABLE, _NOTABLE_OF_USUAL = 0.1, 0.05
"""Single transactions are spoken of when they carry so much of the typical difference, and of the usual time."""


def bound(durations: NDArray[np.float64]) -> float:
    """The longest duration that is not counted as single; at least one transaction may exceed it."""
    most = max(math.ceil(_MOST * len(durations)), 1)
    if len(durations) <= most:
        return math.inf
    return _TIMES * float(np.partition(durations, len(durations) - 1 - most)[len(durations) - 1 - most])


def are_notable(singles: Tested | None, added: float, difference: float, usual: float) -> bool:
    """
    Whether the single ones of two sides are spoken of: their share differs beyond chance, or they carry much.

    Args:
        added: What they add to the difference of the means.
        difference: Of the means without them.
        usual: The usual mean.
    """
    is_more = singles is not None and not singles.is_chance
    return bool(is_more or abs(added) >= max(_NOTABLE * abs(difference), _NOTABLE_OF_USUAL * usual))
