"""
Whether something happens more often than usual, in tries that are independent: as often as in others, or as expected.

Fisher's exact test, one-sided: R. A. Fisher, "The Design of Experiments" (1935), chapter 2. Chernoff's bound, which
holds for few and for rare events too: H. Chernoff, Annals of Mathematical Statistics 23 (1952), in the form of W.
Hoeffding, JASA 58 (1963), theorem 1.
"""

from __future__ import annotations

import math

_MANY = 500
"""Of more, the normal approximations of other tests hold."""


def more_often(part: int, whole: int, usual_part: int, usual_whole: int) -> float:
    """
    The chance of `part` or more of `whole` tries, when it is as frequent as usual.

    0 where there are very many on both sides, which need no exact test.
    """
    both, tries = part + usual_part, whole + usual_whole
    if both > _MANY and usual_part:
        return 0.0
    most = min(whole, both)
    logarithms = [_choose(both, at) + _choose(tries - both, whole - at) for at in range(part, most + 1)]
    return min(sum(math.exp(each - _choose(tries, whole)) for each in logarithms), 1.0)


def exceeds(share: float, expected: float, tries: float, chance: float) -> bool:
    """Whether chance makes a share of so many tries as high as this with less than this probability."""
    if not 0 < expected < share:
        return False
    divergence = share * math.log(share / expected)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - expected))
    return tries * divergence >= -math.log(chance)


def _choose(n: int, k: int) -> float:
    """The logarithm of the number of ways."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) if 0 <= k <= n else -math.inf
