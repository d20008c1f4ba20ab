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

_MOST = 0.05
_TIMES = 4.0


def bound(durations: NDArray[np.float64]) -> float:
    """The longest duration that is not counted as single; at least one transaction may exceed it."""
    most = max(math.ceil(_MOST * len(durations)), 1)
    if len(durations) <= most:
        return math.inf
    return _TIMES * float(np.partition(durations, len(durations) - 1 - most)[len(durations) - 1 - most])
