"""
Whether two means of independent transactions differ: Welch's test, by the normal distribution.

B. Welch, "The generalization of 'Student's' problem", Biometrika 34 (1947). Where nearly all values are zero, a side
with no others by chance has no variance: then that of both sides together counts, as in a test of equal groups.
"""

from __future__ import annotations

import math


def error(usual_variance: float, usual_n: int, slow_variance: float, slow_n: int) -> float:
    """The standard error of the difference of the means; the variances are of single transactions."""
    apart = usual_variance / usual_n + slow_variance / slow_n
    pooled = (usual_variance * usual_n + slow_variance * slow_n) / (usual_n + slow_n) * (1 / usual_n + 1 / slow_n)
    return math.sqrt(max(apart, pooled))


def p_value(difference: float, error: float) -> float:
    """How often chance alone makes a difference like this, or larger, in either direction."""
    return math.erfc(abs(difference) / error / math.sqrt(2)) if error else float(not difference)
