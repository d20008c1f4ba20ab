"""The waterfall of a difference: from the usual mean, over what each part adds or takes away, to the slow mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ...query.components import family
from ...query.why.answer import Why
from ...query.why.rows import Row
from ...query.why.wording import signed

_NOTHING_NS = 1.0
"""A smaller difference does not choose the axis."""
_ZERO_SHARE = 0.4
"""When the steps need a smaller part of an axis from zero, the axis begins later."""
_CUT = 0.15
"""What is cut has so much more of the axis than the rest."""
_WIDTH = 1_000.0

Meaning = Literal["whole", "more", "slower", "part"]


@dataclass(frozen=True)
class Rectangle:
    """A part of a bar, on an axis from 0 to 1,000."""

    x: float
    width: float
    meaning: Meaning


@dataclass(frozen=True)
class Step:
    """One row: a mean, or a part of the difference."""

    row: Row
    family: str
    """Of the colour; empty for what is no component."""
    title: str
    rectangles: tuple[Rectangle, ...]
    start: float
    """Where the row begins and ends on the axis: the rows before it and after it are there too."""
    end: float


@dataclass(frozen=True)
class Waterfall:
    """The rows from top to bottom."""

    steps: tuple[Step, ...]
    begins_ns: float
    """The axis begins here; 0 unless the difference would be too small to see."""
    has_more: bool
    """Whether a part is more calls."""
    has_slower: bool


def waterfall(why: Why) -> Waterfall:
    """Place the rows of the answer on one axis."""
    first, *parts, last = why.shown.parts.rows
    ends_ns = [why.slow.mean_ns - why.difference_ns]
    for each in parts:
        ends_ns.append(ends_ns[-1] + each.difference_ns)
    is_cut = any(each.is_cut for each in parts)  # the last one
    drawn_ns = ends_ns[:-1] if is_cut else [*ends_ns, why.slow.mean_ns]
    least_ns, most_ns = min(drawn_ns), max([*drawn_ns, 1.0])
    is_small = _NOTHING_NS <= most_ns - least_ns < _ZERO_SHARE * most_ns
    begins_ns = max(least_ns - 0.25 * (most_ns - least_ns), 0.0) if is_small else 0.0
    most_ns += _CUT * (most_ns - begins_ns) * is_cut

    def at(ns: float) -> float:
        return round(min(max((ns - begins_ns) / (most_ns - begins_ns), 0.0), 1.0) * _WIDTH, 1)

    def mean(row: Row, ns: float) -> Step:
        return Step(row, "", "", (Rectangle(0, at(ns), "whole"),), at(ns), at(ns))

    steps = [mean(first, ends_ns[0])]
    for each, start_ns, end_ns in zip(parts, ends_ns, ends_ns[1:], strict=False):
        bars = tuple(Rectangle(at(a), at(b) - at(a), meaning) for a, b, meaning in _spans(each, start_ns))
        colour = family(each.component) if each.component else ""
        steps.append(Step(each, colour, _title(each), bars, at(start_ns), at(end_ns)))
    steps.append(mean(last, why.slow.mean_ns))
    meanings = {rectangle.meaning for each in steps for rectangle in each.rectangles}
    return Waterfall(tuple(steps), begins_ns, "more" in meanings, "slower" in meanings)


def _spans(row: Row, start_ns: float) -> Iterator[tuple[float, float, Meaning]]:
    """The bar from its left to its right end: more calls and slower calls, when both pull one way."""
    left_ns, right_ns = sorted((start_ns, start_ns + row.difference_ns))
    if row.more_ns is None or row.slower_ns is None:
        yield left_ns, right_ns, "part"
    elif row.more_ns * row.slower_ns <= 0:
        yield left_ns, right_ns, "more" if abs(row.more_ns) > abs(row.slower_ns) else "slower"
    else:
        cut_ns = start_ns + row.more_ns
        is_up = row.difference_ns > 0
        yield left_ns, cut_ns, "more" if is_up else "slower"
        yield cut_ns, right_ns, "slower" if is_up else "more"


def _title(row: Row) -> str:
    if row.more_ns is None or row.slower_ns is None:
        return ", ".join(row.also[:10])
    whole = row.cells["per transaction"]
    return f"{whole} per transaction: more calls {signed(row.more_ns)}, slower calls {signed(row.slower_ns)}"
