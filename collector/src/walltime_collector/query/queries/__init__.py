"""The queries, one SQL file each, and how they are run: with bound parameters, through the engine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from ...clickhouse.engine import Engine, Parameter

Row = Mapping[str, Any]
_INCLUDE = re.compile(r"^-- include (\S+)\.sql$", re.MULTILINE)


@cache
def query_text(name: str) -> str:
    """The text of <name>.sql (`show/calls`), with the files that its `-- include` lines name put in their place."""
    text = (files(__package__) / f"{name}.sql").read_text("utf-8")
    return _INCLUDE.sub(lambda include: query_text(include[1]).rstrip(), text)


def run(engine: Engine, name: str, /, **parameters: Parameter) -> Sequence[Row]:
    """
    Run <name>.sql; its placeholders are `{parameter:Type}`.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    return engine.query(query_text(name), parameters)
