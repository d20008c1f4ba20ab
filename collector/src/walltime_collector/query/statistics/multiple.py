"""
Corrects p-values for how many were looked at: Holm's step-down method.

S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float], looked_at: int = 0) -> list[float]:
    """
    The chance that any of all tests has such a p-value by chance, in the same order.

    Args:
        looked_at: How many were looked at, when only the smallest were tested; at least as many as p-values.
    """
    tests, largest = max(looked_at, len(p_values)), 0.0
    corrected = [1.0] * len(p_values)
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min((tests - rank) * p_values[at], 1.0))
        corrected[at] = largest
    return corrected
