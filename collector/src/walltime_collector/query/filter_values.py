"""The values that filters can have, as suggestions."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..clickhouse.engine import Engine
from .queries import run


@dataclass(frozen=True)
class FilterValues:
    """Up to 50 values of each filter, the most frequent ones of the last hour, in alphabetical order."""

    service: tuple[str, ...]
    kind: tuple[str, ...]
    host: tuple[str, ...]
    version: tuple[str, ...]
    environment: tuple[str, ...]
    status: tuple[str, ...]


def filter_values(engine: Engine) -> FilterValues:
    """
    Query them.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    (row,) = run(engine, "kinds/filter_values")
    return FilterValues(**{each.name: tuple(map(str, row[each.name])) for each in fields(FilterValues)})
