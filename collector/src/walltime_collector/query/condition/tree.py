"""A condition, and the fields that it compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "~", "!~"]
Type = Literal["text", "texts", "attribute", "flag", "number", "time", "size", "status", "locks"]
"""
texts: a list, of which one is compared. attribute: a text that `<` and `>` read as a number. time: nanoseconds.
size: bytes. locks: a time from the slow log.
"""
Value = str | int | float | bool


@dataclass(frozen=True)
class Field:
    """What can be compared."""

    name: str
    type: Type
    sql: str
    """
    An expression over the table `transactions`, whose columns have its name, because queries have aliases like them.
    Each `{}` is a bound parameter. Of locks it is for sorting.
    """
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Condition:
    """What is true of some transactions, as SQL."""

    sql: str
    """As of a field; never NULL."""
    values: tuple[Value, ...]
    """The bound parameters, in the order of the `{}`."""
    fields: frozenset[str]
    """The names of the fields that it compares."""
    depth: int = 0
    """Of `and`, `or` and `not` in each other."""
