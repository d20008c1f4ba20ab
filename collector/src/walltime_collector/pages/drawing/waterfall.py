"""The waterfall of a difference: from the usual mean, over what each component adds or takes away, to the slow mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ...format import duration, plural
from ...query.components import family
from ...query.why import wording
from ...query.why.answer import Contribution, Why
from ...query.why.wording import signed

_MOST_STEPS = 8
_SMALLEST_STEP = 0.03
"""Of the largest step; smaller ones are one step together."""
_NOTHING_NS = 1.0
"""A smaller difference has no row."""
_ZERO_SHARE = 0.4
"""When the steps need a smaller part of an axis from zero, the axis begins later."""
_WIDTH = 1_000.0


@dataclass(frozen=True)
class Rectangle:
    """A part of a bar, on an axis from 0 to 1,000."""

    x: float
    width: float
    meaning: Literal["whole", "more", "slower"]


@dataclass(frozen=True)
class Step:
    """One row: a mean, or a component's part of the difference."""

    label: str
    family: str
    """Of the colour; empty for the two means."""
    text: str
    """The mean, or the difference with its sign."""
    calls: str
    per_call: str
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


def waterfall(why: Why, usual: str, slow: str) -> Waterfall:
    """
    Arrange the contributions, the largest first, small ones in one step.

    Args:
        usual: What the mean of the usual transactions is called; `slow` the other one.
    """
    large, small = _folded(why.components)
    sizes_ns = [each.difference_ns for each in large] + ([sum(each.difference_ns for each in small)] if small else [])
    ends_ns = [why.usual.mean_ns]
    for size_ns in sizes_ns:
        ends_ns.append(ends_ns[-1] + size_ns)
    least_ns, most_ns = min([*ends_ns, why.slow.mean_ns]), max([*ends_ns, why.slow.mean_ns, 1.0])
    is_small = _NOTHING_NS <= most_ns - least_ns < _ZERO_SHARE * most_ns
    begins_ns = max(least_ns - 0.25 * (most_ns - least_ns), 0.0) if is_small else 0.0

    def at(ns: float) -> float:
        return round((ns - begins_ns) / (most_ns - begins_ns) * _WIDTH, 1)

    def mean(label: str, ns: float) -> Step:
        return Step(label, "", duration(ns), "", "", "", (Rectangle(0, at(ns), "whole"),), at(ns), at(ns))

    steps = [mean(usual, why.usual.mean_ns)]
    for each, start_ns, end_ns in zip(large, ends_ns, ends_ns[1:], strict=False):
        steps.append(
            Step(
                each.component,
                family(each.component),
                signed(each.difference_ns),
                wording.calls(each),
                wording.per_call(each),
                _title(each),
                tuple(Rectangle(at(a), at(b) - at(a), meaning) for a, b, meaning in _parts(each, start_ns)),
                at(start_ns),
                at(end_ns),
            )
        )
    if small:
        start, end = at(ends_ns[-2]), at(ends_ns[-1])
        bar = Rectangle(min(start, end), abs(end - start), "slower")
        names = ", ".join(each.component for each in small[:10])
        label = plural(len(small), "smaller part")
        steps.append(Step(label, "other", signed(sizes_ns[-1]), "", "", names, (bar,), start, end))
    steps.append(mean(slow, why.slow.mean_ns))
    meanings = {rectangle.meaning for step in steps[1:-1] for rectangle in step.rectangles}
    return Waterfall(tuple(steps), begins_ns, "more" in meanings, "slower" in meanings)


def _folded(components: Sequence[Contribution]) -> tuple[list[Contribution], list[Contribution]]:
    changed = [each for each in components if abs(each.difference_ns) >= _NOTHING_NS]
    largest = max((abs(each.difference_ns) for each in changed), default=0.0)
    large = [each for each in changed if abs(each.difference_ns) >= _SMALLEST_STEP * largest][:_MOST_STEPS]
    small = [each for each in changed if each not in large]
    return (large, small) if len(small) > 1 else (changed, [])


def _parts(each: Contribution, start_ns: float) -> Iterator[tuple[float, float, Literal["more", "slower"]]]:
    """The bar of a component from its left to its right end: more calls and slower calls, when both pull one way."""
    end_ns = start_ns + each.difference_ns
    left_ns, right_ns = sorted((start_ns, end_ns))
    if each.more_ns * each.slower_ns <= 0:
        yield left_ns, right_ns, "more" if abs(each.more_ns) > abs(each.slower_ns) else "slower"
    else:
        cut_ns = start_ns + each.more_ns
        is_up = each.difference_ns > 0
        yield left_ns, cut_ns, "more" if is_up else "slower"
        yield cut_ns, right_ns, "slower" if is_up else "more"


def _title(each: Contribution) -> str:
    whole = wording.per_transaction(each)
    return f"{whole} per transaction: more calls {signed(each.more_ns)}, slower calls {signed(each.slower_ns)}"
