"""The bar of a difference: what is more to the right of the middle, what is less to the left, by component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...query.components import family
from ...query.diff.answer import KindDifference
from ...query.why.wording import signed

_MIDDLE = 500.0
_NARROWEST = 1.0


@dataclass(frozen=True)
class Part:
    """One component, on an axis from 0 to 1,000."""

    family: str
    x: float
    width: float
    title: str


def difference(each: KindDifference, kinds: Sequence[KindDifference]) -> list[Part]:
    """The bar of one of these kinds; all of them have the same scale: total time."""
    longest_ns = max(max(_sides(one)) for one in kinds) or 1.0
    parts, left, right = [], _MIDDLE, _MIDDLE
    for component in each.components:
        width = abs(component.difference_ns) * _transactions(each) / longest_ns * _MIDDLE
        if width < _NARROWEST:
            continue
        left -= width if component.difference_ns < 0 else 0
        x = left if component.difference_ns < 0 else right
        right += width if component.difference_ns > 0 else 0
        title = f"{component.component}: {signed(component.difference_ns)}"
        parts.append(Part(family(component.component), round(x, 2), round(width, 2), title))
    return parts


def _sides(each: KindDifference) -> tuple[float, float]:
    """The sums of what is more and of what is less."""
    differences = [part.difference_ns * _transactions(each) for part in each.components]
    return sum(one for one in differences if one > 0), -sum(one for one in differences if one < 0)


def _transactions(each: KindDifference) -> int:
    return each.now.timed if each.now else 0
