"""A condition as a typed tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

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
    """An expression over the table `transactions`; each `{}` is a bound parameter, whose values are `keys`."""
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """`field operator value`; `=` and `!=` with several values are `in` and `not in`."""

    field: Field
    operator: Operator
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Joined:
    """Conditions that are all true, of which at least one is, or the opposite of a single one."""

    by: Literal["AND", "OR", "NOT"]
    of: tuple[Condition, ...]


Condition: TypeAlias = "Comparison | Joined"


def field_names(condition: Condition) -> frozenset[str]:
    """The names of the fields that it compares."""
    if isinstance(condition, Comparison):
        return frozenset((condition.field.name,))
    return frozenset().union(*map(field_names, condition.of))
