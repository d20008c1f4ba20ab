"""Splits a difference by HTTP status: the part caused by another mix of statuses, and the part within each status."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from .answer import StatusClass
from .chance import CHANCE

_SMALL = 0.05
"""A change of the mix that is less than this part of the usual time is not reported."""
_MOST_OF_IT = 0.8


def by_status(rows: Sequence[Mapping[str, Any]]) -> tuple[StatusClass, ...]:
    """
    The classes of both populations; over all of them mix and like with like add up to the difference, exactly.

        mix             (share − usual share) · (usual mean of the class − usual mean of all)
        like with like  share · (mean − usual mean), of the same class

    A new class has no usual mean: its own mean is taken for it, and its whole part is mix.
    """
    sides: tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]] = ({}, {})
    for row in rows:
        sides[bool(row["is_slow"])][row["status"]] = (int(row["transactions"]), int(row["total_ns"]))
    usual, slow = sides
    usual_n, slow_n = (sum(transactions for transactions, _ in side.values()) for side in sides)
    if not (usual_n and slow_n):
        return ()
    usual_mean = Fraction(sum(total_ns for _, total_ns in usual.values()), usual_n)
    classes = []
    for status in sorted({*usual, *slow}):
        before, now = usual.get(status, (0, 0)), slow.get(status, (0, 0))
        mean_before = Fraction(before[1], before[0]) if before[0] else Fraction(*reversed(now))
        more = Fraction(now[0], slow_n) - Fraction(before[0], usual_n)
        slower = Fraction(now[1], slow_n) - Fraction(now[0], slow_n) * mean_before
        classes.append(
            StatusClass(
                status=status,
                usual_transactions=before[0],
                slow_transactions=now[0],
                usual_share=before[0] / usual_n,
                slow_share=now[0] / slow_n,
                usual_mean_ns=before[1] / before[0] if before[0] else None,
                slow_mean_ns=now[1] / now[0] if now[0] else None,
                mix_ns=float(more * (mean_before - usual_mean)),
                like_with_like_ns=float(slower),
            )
        )
    return tuple(sorted(classes, key=lambda each: (-each.usual_share, each.status)))


def mix_ns(classes: Sequence[StatusClass]) -> float:
    """The part of the difference because the mix changed."""
    return sum(each.mix_ns for each in classes)


def like_with_like_ns(classes: Sequence[StatusClass]) -> float:
    """The rest of the difference, when every class is compared with itself."""
    return sum(each.like_with_like_ns for each in classes)


def is_notable(classes: Sequence[StatusClass], usual_mean_ns: float) -> bool:
    """The mix changed beyond chance, and its part of the time is not small."""
    return abs(mix_ns(classes)) >= _SMALL * usual_mean_ns and any(_changed(each, classes) for each in classes)


def is_all_of_it(classes: Sequence[StatusClass], difference_ns: float) -> bool:
    """The mix explains nearly the whole difference."""
    return abs(like_with_like_ns(classes)) <= (1 - _MOST_OF_IT) * abs(difference_ns)


def _changed(each: StatusClass, classes: Sequence[StatusClass]) -> bool:
    """Whether the share differs beyond chance: the test of two proportions."""
    usual_n = sum(one.usual_transactions for one in classes)
    slow_n = sum(one.slow_transactions for one in classes)
    pooled = (each.usual_transactions + each.slow_transactions) / (usual_n + slow_n)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / usual_n + 1 / slow_n))
    return spread > 0 and math.erfc(abs(each.slow_share - each.usual_share) / spread / math.sqrt(2)) < CHANCE
