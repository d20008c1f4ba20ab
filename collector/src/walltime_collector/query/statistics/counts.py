"""
Whether something happens more often in some tries than in others: Fisher's exact test, one-sided.

R. A. Fisher, "The Design of Experiments" (1935), chapter 2.
"""

from __future__ import annotations

import math

_MANY = 500
"""Of more, the normal approximations of other tests hold."""


def more_often(part: int, whole: int, usual_part: int, usual_whole: int) -> float:
    """
    The chance of `part` or more of `whole` tries, when it is as frequent as usual; tries are independent.

    0 where there are very many, which need no exact test.
    """
    both, tries = part + usual_part, whole + usual_whole
    if both > _MANY:
        return 0.0
    most = min(whole, both)
    logarithms = [_choose(both, at) + _choose(tries - both, whole - at) for at in range(part, most + 1)]
    return min(sum(math.exp(each - _choose(tries, whole)) for each in logarithms), 1.0)


def _choose(n: int, k: int) -> float:
    """The logarithm of the number of ways."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) if 0 <= k <= n else -math.inf
