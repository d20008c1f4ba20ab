"""The numbers of a list of transactions, as the command and the page show them."""

from __future__ import annotations

from ...format import count, duration, size


def sort_value(value: int, sort: str) -> str:
    """The number that the list is sorted by."""
    if sort == "duration" or sort.endswith((".time", ".max")):
        return duration(value)
    return size(value) if sort == "memory.growth" else count(value)
