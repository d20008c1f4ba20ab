"""The queries, one SQL file each, and how they are run: with bound parameters, through the engine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from ...clickhouse.engine import Engine, Parameter
from ..condition.parse import parse
from ..condition.sql import as_sql

Row = Mapping[str, Any]
_INCLUDE = re.compile(r"^-- include (\S+)\.sql$", re.MULTILINE)
WHERE = "-- where\n"
"""The line of _filters.sql in whose place the condition of Filters.where is put."""


@cache
def query_text(name: str) -> str:
    """The text of <name>.sql (`show/calls`), with the files that its `-- include` lines name put in their place."""
    text = (files(__package__) / f"{name}.sql").read_text("utf-8")
    return _INCLUDE.sub(lambda include: query_text(include[1]).rstrip(), text)


def run(engine: Engine, name: str, /, **parameters: Parameter) -> Sequence[Row]:
    """
    Run <name>.sql; its placeholders are `{parameter:Type}`.

    The parameter `where` is no value but a condition: queries with _filters.sql have it among their filters.

    Raises:
        BadParameter: `where` is no condition.
        EngineUnavailable: The engine cannot answer now.
    """
    sql = query_text(name)
    if where := parameters.pop("where", ""):
        expression, values = as_sql(parse(str(where)))
        sql, parameters = sql.replace(WHERE, f"AND ({expression})\n"), {**parameters, **values}
    return engine.query(sql, parameters)
