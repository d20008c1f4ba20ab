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
class Not:
    """The opposite."""

    of: Condition


@dataclass(frozen=True)
class Both:
    """All of them are true."""

    of: tuple[Condition, ...]


@dataclass(frozen=True)
class Either:
    """At least one of them is true."""

    of: tuple[Condition, ...]


Condition: TypeAlias = "Comparison | Not | Both | Either"


def field_names(condition: Condition) -> frozenset[str]:
    """The names of the fields that it compares."""
    if isinstance(condition, Comparison):
        return frozenset((condition.field.name,))
    inner = (condition.of,) if isinstance(condition, Not) else condition.of
    return frozenset().union(*map(field_names, inner))
