"""Makes SQL of a condition: an expression over the table `transactions`, and its bound parameters."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ...clickhouse.engine import Parameter
from .tree import Comparison, Condition, Field, Value

_LOCKED = """\
transactions.trace_id {is_in} (
    SELECT trace_id
    FROM slow_queries
    WHERE trace_id != toFixedString('', 16)
    GROUP BY trace_id
    HAVING {condition}
)"""
_WAITED = """\
(
    SELECT mapFromArrays(groupArray(trace_id), groupArray(waited_ns))
    FROM
    (
        SELECT trace_id, toInt64(sum({})) AS waited_ns
        FROM slow_queries
        WHERE trace_id != toFixedString('', 16)
            AND started_at >= fromUnixTimestamp64Nano({{start_ns:Int64}}, 'UTC') - INTERVAL 1 HOUR
            AND started_at < fromUnixTimestamp64Nano({{end_ns:Int64}}, 'UTC') + INTERVAL 1 HOUR
        GROUP BY trace_id
        HAVING waited_ns > 0
        ORDER BY waited_ns DESC
        LIMIT 10000
    )
)[transactions.trace_id]"""
"""The time of a trace, for sorting: 0 for all but those of the window that waited longest. Clocks may differ."""
NONE: Mapping[str, Parameter] = MappingProxyType({})


def as_sql(condition: Condition, others: Mapping[str, Parameter] = NONE) -> tuple[str, Mapping[str, Parameter]]:
    """
    The expression and its parameters, which are named where_0, where_1, …; `others` are those of another condition.

    Columns have the name of the table, because queries have aliases like them. It is never NULL: a time that is not
    known is 0, and an attribute that is no number is neither less nor more.
    """
    parameters = dict(others)
    return _sql(condition, parameters), parameters


def field_sql(field: Field, parameters: dict[str, Parameter]) -> str:
    """The expression of a field, over transactions in a window; its keys are added to the parameters."""
    if field.type == "locks":
        return _WAITED.format(field.sql)
    return field.sql.format(*(_bound(key, parameters) for key in field.keys))


def _sql(condition: Condition, parameters: dict[str, Parameter]) -> str:
    if isinstance(condition, Comparison):
        return _comparison(condition, parameters)
    each = [f"({_sql(each, parameters)})" for each in condition.of]
    return f"NOT {each[0]}" if condition.by == "NOT" else f" {condition.by} ".join(each)


def _comparison(condition: Comparison, parameters: dict[str, Parameter]) -> str:
    field = condition.field
    if field.type == "locks":
        return _locked(condition, parameters)
    is_opposite = condition.operator.startswith("!")
    wanted = condition.operator.replace("!", "")
    one_of = " OR ".join(_one(field, wanted or "=", each, parameters) for each in condition.values)
    return f"NOT ({one_of})" if is_opposite else one_of


def _one(field: Field, wanted: str, value: Value, parameters: dict[str, Parameter]) -> str:
    if field.type == "status" and isinstance(value, str):
        return _status(value, parameters)
    left = field_sql(field, parameters)
    right = _bound(value, parameters)
    if field.type == "texts":
        return f"has({left}, {right})" if wanted == "=" else f"arrayExists(one -> {_contains('one', right)}, {left})"
    if wanted == "~":
        return _contains(left, right)
    if field.type == "attribute" and wanted != "=":
        return f"ifNull(toFloat64OrNull({left}) {wanted} {right}, false)"
    return f"{left} {wanted} {right}"


def _contains(left: str, right: str) -> str:
    return f"positionCaseInsensitiveUTF8({left}, {right}) > 0"


def _status(value: str, parameters: dict[str, Parameter]) -> str:
    if value == "failed":
        return "transactions.is_error"
    if value.endswith("xx"):
        return f"intDiv(transactions.http_status, 100) = {_bound(int(value[0]), parameters)}"
    return f"transactions.http_status = {_bound(int(value), parameters)}"


def _locked(condition: Comparison, parameters: dict[str, Parameter]) -> str:
    """Transactions without an entry in the slow log waited 0: where 0 satisfies it, all but those that do not."""
    wanted = condition.operator
    numbers = [float(each) for each in condition.values]  # one, but for = and !=
    is_zero_enough = {
        "=": 0 in numbers,
        "!=": 0 not in numbers,
        "<": numbers[0] > 0,
        "<=": numbers[0] >= 0,
        ">": numbers[0] < 0,
        ">=": numbers[0] <= 0,
    }[wanted]
    sums = f"sum({condition.field.sql})"
    separator = " OR " if wanted == "=" else " AND "
    each = separator.join(f"{sums} {wanted} {_bound(value, parameters)}" for value in condition.values)
    return _LOCKED.format(
        is_in="NOT IN" if is_zero_enough else "IN", condition=f"NOT ({each})" if is_zero_enough else each
    )


def _bound(value: Value, parameters: dict[str, Parameter]) -> str:
    """The placeholder of a value."""
    name = f"where_{len(parameters)}"
    parameters[name] = value
    types = {str: "String", bool: "Bool", int: "Int64", float: "Float64"}
    return f"{{{name}:{types[type(value)]}}}"
