"""Finds the items that fail among those that do not, by halving what fails."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

T = TypeVar("T")
Part = Sequence[tuple[int, T]]
"""Items with their positions."""


def search(part: Part[T], fails: Callable[[Part[T]], bool]) -> list[int]:
    """The positions of the items that fail, each by itself."""
    steps = searching(part, fails)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return list(end.value)


def searching(
    part: Part[T], fails: Callable[[Part[T]], bool], *, is_known: bool = False
) -> Generator[None, None, list[int]]:
    """The same, yielding before each try; `is_known`: the part surely fails."""
    is_one = len(part) == 1
    if is_one or not is_known:
        yield
        if not fails(part):
            return []
    if is_one:
        return [part[0][0]]
    left, right = part[: len(part) // 2], part[len(part) // 2 :]
    failing = yield from searching(left, fails)
    return failing + (yield from searching(right, fails, is_known=not failing))
