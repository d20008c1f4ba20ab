"""
Whether something happens more often in some tries than in others: Fisher's exact test, one-sided.

R. A. Fisher, "The Design of Experiments" (1935), chapter 2.
"""

from __future__ import annotations

import math


def more_often(part: int, whole: int, usual_part: int, usual_whole: int) -> float:
    """The chance of `part` or more of `whole` tries, when it is as frequent as usual; tries are independent."""
    both, tries = part + usual_part, whole + usual_whole
    return min(
        sum(
            math.comb(both, each) * math.comb(tries - both, whole - each) / math.comb(tries, whole)
            for each in range(part, min(whole, both) + 1)
            if whole - each <= tries - both
        ),
        1.0,
    )
