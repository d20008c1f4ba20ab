"""
The slope of a straight line inside groups, with an error that allows for neighbours that are alike.

Comparing only inside groups (fixed effects, Frisch and Waugh 1933) leaves nothing to what differs between them. The
error is that of clusters: K.-Y. Liang and S. Zeger, Biometrika 73 (1986), with the correction for few of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_FEWEST_CLUSTERS = 8.0


@dataclass(frozen=True)
class Slope:
    """Of y for one more x; the error is infinite when too little varies inside the groups."""

    size: float
    error: float


def slope(
    x: NDArray[np.float64], y: NDArray[np.float64], groups: NDArray[np.int64], clusters: NDArray[np.int64]
) -> Slope:
    """
    The least-squares slope inside the groups.

    Args:
        groups: The label of each value's group, from 0; `clusters` likewise.
    """
    sizes = np.bincount(groups)
    inside_x, inside_y = (each - (np.bincount(groups, each) / np.maximum(sizes, 1))[groups] for each in (x, y))
    weights = np.bincount(clusters, inside_x * inside_x)
    whole = float(weights.sum())
    effective = whole**2 / float(weights @ weights) if whole > 1e-9 else 0.0
    if effective < _FEWEST_CLUSTERS:
        return Slope(0.0, math.inf)
    size = float(inside_x @ inside_y) / whole
    residuals = np.bincount(clusters, inside_x * (inside_y - size * inside_x))
    return Slope(size, math.sqrt(float(residuals @ residuals) * effective / (effective - 1)) / whole)
