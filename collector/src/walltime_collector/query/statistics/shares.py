"""
Whether a share is above an expected one beyond chance: Chernoff's bound, which holds for few and for rare events too.

H. Chernoff, "A measure of asymptotic efficiency for tests of a hypothesis based on the sum of observations", Annals of
Mathematical Statistics 23 (1952), in the form of W. Hoeffding, JASA 58 (1963), theorem 1.
"""

from __future__ import annotations

import math


def exceeds(share: float, expected: float, tries: float, chance: float) -> bool:
    """Whether chance makes a share of so many tries as high as this with less than this probability."""
    if not 0 < expected < share:
        return False
    divergence = share * math.log(share / expected)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - expected))
    return tries * divergence >= -math.log(chance)
