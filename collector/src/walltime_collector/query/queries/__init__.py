"""The queries, one SQL file each, and how they are run: with bound parameters, through the engine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from ...clickhouse.engine import Engine, Parameter
from ..condition.parse import parse, sort_field
from ..condition.sql import NONE, as_sql, field_sql

Row = Mapping[str, Any]
_INCLUDE = re.compile(r"^-- include (\S+)\.sql$", re.MULTILINE)
CONDITIONS = {"where": "-- where\n", "when": "-- when\n"}
"""The lines in whose place conditions are put: of Filters.where in _filters.sql, of `why` in why/_compared.sql."""
SORT = "-- sort\n"
"""The line of find/ids.sql in whose place the field `sort` is put."""


@cache
def query_text(name: str) -> str:
    """The text of <name>.sql (`show/calls`), with the files that its `-- include` lines name put in their place."""
    text = (files(__package__) / f"{name}.sql").read_text("utf-8")
    return _INCLUDE.sub(lambda include: query_text(include[1]).rstrip(), text)


def run(engine: Engine, name: str, /, **parameters: Parameter) -> Sequence[Row]:
    """
    Run <name>.sql; its placeholders are `{parameter:Type}`.

    The parameters `where` and `when` are no values but conditions (CONDITIONS), and `sort` is a field of conditions.

    Raises:
        BadParameter: One of them is no condition, or `sort` no number.
        EngineUnavailable: The engine cannot answer now.
    """
    sql, values = query_text(name), NONE
    for parameter, line in CONDITIONS.items():
        if condition := parameters.pop(parameter, ""):
            expression, values = as_sql(parse(str(condition)), values)
            sql = sql.replace(line, f"AND ({expression})\n")
    if sort := parameters.pop("sort", ""):
        values = dict(values)
        sql = sql.replace(SORT, f"{field_sql(sort_field(str(sort)), values)}\n")
    return engine.query(sql, {**parameters, **values})
