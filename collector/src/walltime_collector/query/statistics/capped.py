"""
Means that a few transactions cannot decide: the largest twentieth counts as no larger than the others.

A winsorized mean, of the upper side only: times and calls have one tail. W. Dixon, "Simplified estimation from
censored normal samples", Annals of Mathematical Statistics 31 (1960). queries/incidents/_typical.sql has the same from
quantiles.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

MOST = 0.05
"""Of the transactions; at least one."""


def capped(values: NDArray[np.float64], deviations: float = 0.0) -> NDArray[np.float64]:
    """
    The values, in which the largest are as large as the next ones.

    Args:
        deviations: Cap so many standard deviations more: chance brings more than a twentieth of few.
    """
    most = max(math.ceil(MOST * len(values) + deviations * math.sqrt(MOST * len(values))), 1)
    if len(values) <= most:
        return values
    return np.asarray(np.minimum(values, np.partition(values, -1 - most)[-1 - most]))
