"""
Keeps a few transactions, which are much larger than the others, from deciding what a mean is: the largest twentieth.

`capped` is a winsorized mean, of the upper side only, as times and calls have one tail: W. Dixon, Ann. Math. Stat. 31
(1960). `bound` tells very long ones apart, and trims nothing where there is nothing odd: Tukey's fences,
further out because durations are skewed. J. Tukey, "Exploratory Data Analysis" (1977), 2D.
queries/incidents/_typical.sql and queries/diff/bounds.sql have the same from quantiles.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .blocks import Tested

_MOST = 0.05
"""Of the transactions; at least one."""
_TIMES = 4.0
_NOTABLE, _NOTABLE_OF_USUAL = 0.1, 0.05
"""Single transactions are spoken of when they carry so much of the typical difference, and of the usual time."""


def capped(values: NDArray[np.float64], deviations: float = 0.0) -> NDArray[np.float64]:
    """
    The values, in which the largest are as large as the next ones.

    Args:
        deviations: Cap so many standard deviations more: chance brings more than a twentieth of few.
    """
    return np.asarray(np.minimum(values, _next(values, deviations)))


def bound(durations: NDArray[np.float64]) -> float:
    """The longest duration that is not counted as single; at least one transaction may exceed it."""
    return _TIMES * _next(durations)


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


def _next(values: NDArray[np.float64], deviations: float = 0.0) -> float:
    """The largest that is not in the largest twentieth; infinite when all are."""
    most = max(math.ceil(_MOST * len(values) + deviations * math.sqrt(_MOST * len(values))), 1)
    return float(np.partition(values, -1 - most)[-1 - most]) if len(values) > most else math.inf
