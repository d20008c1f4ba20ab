"""Makes SQL of a condition: an expression over the table `transactions`, with `{}` for each bound parameter."""

from __future__ import annotations

from itertools import chain
from typing import Literal

from ...clickhouse.engine import Parameter
from .tree import Condition, Field, Operator, Value

_WAITED = "sum(greatest(lock_ns, row_lock_ns) + likely_row_lock_ns)"
_LOCKED = """\
transactions.trace_id {is_in} (
    SELECT trace_id
    FROM slow_queries
    WHERE trace_id != toFixedString('', 16)
    GROUP BY trace_id
    HAVING {condition}
)"""
_TYPES = {str: "String", bool: "Bool", int: "Int64", float: "Float64"}


def bound(of: Field | Condition, parameters: dict[str, Parameter]) -> str:
    """The expression, whose values become the parameters where_0, where_1, … behind those that there are."""
    placeholders = []
    for value in of.values:
        name = f"where_{len(parameters)}"
        parameters[name] = value
        placeholders.append(f"{{{name}:{_TYPES[type(value)]}}}")
    return of.sql.format(*placeholders)


def joined(by: Literal["AND", "OR", "NOT"], of: tuple[Condition, ...]) -> Condition:
    """Conditions that are all true, of which at least one is, or the opposite of a single one."""
    sql = f" {by} ".join(f"({each.sql})" for each in of)
    return Condition(
        f"NOT {sql}" if by == "NOT" else sql,
        tuple(chain.from_iterable(each.values for each in of)),
        frozenset().union(*(each.fields for each in of)),
        1 + max(each.depth for each in of),
    )


def compared(field: Field, operator: Operator, values: tuple[Value, ...]) -> Condition:
    """
    `field operator value`; `=` and `!=` with several values are `in` and `not in`.

    It is never NULL: a time that is not known is 0, and an attribute that is no number is neither less nor more.
    """
    name = frozenset((field.name,))
    if field.type == "locks":
        return Condition(_locked(operator, values), values, name)
    each = [_one(field, operator.replace("!", ""), value) for value in values]
    one_of = " OR ".join(sql for sql, _ in each)
    return Condition(
        f"NOT ({one_of})" if operator.startswith("!") else one_of,
        tuple(chain.from_iterable(values for _, values in each)),
        name,
    )


def _one(field: Field, wanted: str, value: Value) -> tuple[str, tuple[Value, ...]]:
    """The comparison with one value, and its parameters."""
    left, values = field.sql, (*field.values, value)
    if field.type == "status" and isinstance(value, str):
        return _status(value)
    if field.type == "texts":
        return f"has({left}, {{}})" if wanted == "=" else f"arrayExists(one -> {_contains('one')}, {left})", values
    if wanted == "~":
        return _contains(left), values
    if field.type == "attribute" and wanted != "=":
        return f"ifNull(toFloat64OrNull({left}) {wanted} {{}}, false)", values
    return f"{left} {wanted} {{}}", values


def _contains(left: str) -> str:
    return f"positionCaseInsensitiveUTF8({left}, {{}}) > 0"


def _status(value: str) -> tuple[str, tuple[Value, ...]]:
    if value == "failed":
        return "transactions.is_error", ()
    if value.endswith("xx"):
        return "intDiv(transactions.http_status, 100) = {}", (int(value[0]),)
    return "transactions.http_status = {}", (int(value),)


def _locked(wanted: Operator, values: tuple[Value, ...]) -> str:
    """Transactions without an entry in the slow log waited 0: where 0 satisfies it, all but those that do not."""
    numbers = [float(each) for each in values]  # one, but for = and !=
    is_zero_enough = {
        "=": 0 in numbers,
        "!=": 0 not in numbers,
        "<": numbers[0] > 0,
        "<=": numbers[0] >= 0,
        ">": numbers[0] < 0,
        ">=": numbers[0] <= 0,
    }[wanted]
    each = (" OR " if wanted == "=" else " AND ").join([f"{_WAITED} {wanted} {{}}"] * len(values))
    return _LOCKED.format(
        is_in="NOT IN" if is_zero_enough else "IN", condition=f"NOT ({each})" if is_zero_enough else each
    )
