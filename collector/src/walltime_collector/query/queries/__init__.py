"""The queries, one SQL file each, and how they are run: with bound parameters, through the engine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from ...clickhouse.engine import Engine, Parameter
from ..condition.parse import parse, sort_field
from ..condition.sql import bound

Row = Mapping[str, Any]
_INCLUDE = re.compile(r"^ *-- include (\S+)\.sql$", re.MULTILINE)
CONDITIONS = {"where": "-- where\n", "when": "-- when\n", "value": "-- value\n"}
"""The lines for conditions: of Filters.where in _filters.sql, of `why` in why/_compared.sql, in why/evidence/."""
SORT = "-- sort\n"
"""The line of find/ids.sql in whose place the field `sort` is put."""

BESIDE = "    UNION ALL -- beside whole minutes\n"
"""From this line to the next `)` a query reads the transactions beside the whole minutes of a Scope (Scope.divided)."""
_BESIDE = re.compile(rf"^{BESIDE}.*?(?=^ *\))", re.MULTILINE | re.DOTALL)
_OPTIONAL = re.compile(r"\s*AND \((?:\{(\w+):String\} = '' OR|empty\(\{(\w+):)")
_PLACEHOLDER = re.compile(r"\{(\w+):([^{}]+)\}")
_S = 1_000_000_000


@cache
def query_text(name: str) -> str:
    """The text of <name>.sql (`show/calls`), with the files that its `-- include` lines name put in their place."""
    text = (files(__package__) / f"{name}.sql").read_text("utf-8")
    return _with_included(text)


def _with_included(text: str) -> str:
    return _INCLUDE.sub(lambda include: query_text(include[1]).rstrip(), text)


def run(engine: Engine, name: str, /, **parameters: Parameter) -> Sequence[Row]:
    """
    Run <name>.sql; its placeholders are `{parameter:Type}`.

    The parameters `where` and `when` are no values but conditions (CONDITIONS), and `sort` is a field of conditions.

    Raises:
        BadParameter: One of them is no condition, or `sort` no number.
        EngineUnavailable: The engine cannot answer now.
    """
    return engine.query(*_composed(name, parameters))


def written(name: str, /, **parameters: Parameter) -> str:
    """
    The same statement with its values in it, as people can run it with `walltime sql`.

    Raises:
        BadParameter: As `run`.
    """
    sql, values = _composed(name, parameters)
    lines = [line for line in sql.splitlines() if not _says_nothing(line, values)]
    return _PLACEHOLDER.sub(lambda match: _literal(values[match[1]], match[2]), "\n".join(lines))


def _says_nothing(line: str, values: Mapping[str, Parameter]) -> bool:
    """A comment, or a condition that its empty parameter switches off."""
    optional = _OPTIONAL.match(line)
    return line.lstrip().startswith("--") or bool(optional and not values[optional[1] or optional[2]])


def _literal(value: Parameter, of_type: str = "") -> str:
    if of_type == "Identifier":
        return str(value)
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_literal, value))}]" if value else f"CAST([], '{of_type}')"
    return "NULL" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _composed(name: str, parameters: dict[str, Parameter]) -> tuple[str, Mapping[str, Parameter]]:
    sql, values = query_text(name), dict[str, Parameter]()
    if _is_in_whole_minutes(parameters):
        sql = _BESIDE.sub("", sql)
    for parameter, line in CONDITIONS.items():
        if condition := parameters.pop(parameter, ""):
            sql = sql.replace(line, f"AND ({bound(parse(str(condition)), values)})\n")
    if sort := parameters.pop("sort", ""):
        sql = _with_included(sql.replace(SORT, f"{bound(sort_field(str(sort)), values)}\n"))
    return sql, {**parameters, **values}


def _is_in_whole_minutes(params: Mapping[str, Any]) -> bool:
    """Then the other half finds nothing, and ClickHouse would take as long to analyse it as to read the sums."""
    if "minutes_start_s" not in params:
        return False
    start_ns, end_ns = params["minutes_start_s"] * _S, params["minutes_end_s"] * _S
    return bool(start_ns <= params["start_ns"] and params["end_ns"] <= end_ns)
