"""The one place that knows which columns are a component's: `mysql_query_time_ns` is `time_ns` of `mysql.query`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

COUNTERS = (
    "calls",
    "time_ns",
    "max_ns",
    "errors",
    "keys",
    "hits",
    "misses",
    "not_stored",
    "skipped",
    "rows",
    "deadlocks",
    "lock_timeouts",
)
FAMILIES = ("mysql", "memcache", "redis", "http", "python", "custom", "other")
"""What one colour stands for. `custom` is everything the application named itself, `other` the time in no component."""

_COLUMN = re.compile(
    rf"(?:sum\()?(?P<system>[a-z0-9]+)_(?P<operation>[a-z0-9_]+?)_(?P<counter>{'|'.join(COUNTERS)})\)?"
)
_CUSTOM = re.compile(rf"custom_(?P<counter>{'|'.join(COUNTERS)})")
_ATTRIBUTE = re.compile(rf"walltime\.(?P<component>.+)\.(?P<counter>{'|'.join(COUNTERS)})")


def family(component: str) -> str:
    """The family a component belongs to, one of FAMILIES."""
    if component == "other":
        return "other"
    system, dot, _ = component.partition(".")
    return system if dot and system in FAMILIES[:-2] else "custom"


def counters_by_component(row: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """
    Gather the counters of one row (of a transaction, or `sum(…)` over many) by component.

    A counter without a column of its own (`walltime.redis.get.hits`) is among the `attributes` of a row, or summed up
    in `more_counters`. Components without a call and without time are left out, the most expensive comes first.
    """
    gathered: dict[str, dict[str, int]] = {}
    for column, value in row.items():
        if column in ("attributes", "more_counters"):
            for key, said in value.items():
                if (more := _ATTRIBUTE.fullmatch(key)) and (counted := number(said)):
                    gathered.setdefault(more["component"], {})[more["counter"]] = counted
        elif custom := _CUSTOM.fullmatch(column):
            for component, counted in value.items():
                gathered.setdefault(component, {})[custom["counter"]] = int(counted)
        elif (built_in := _COLUMN.fullmatch(column)) and value:
            component = f"{built_in['system']}.{built_in['operation']}"
            gathered.setdefault(component, {})[built_in["counter"]] = int(value)
    used = {name: counters for name, counters in gathered.items() if any(counters.values())}
    return dict(sorted(used.items(), key=lambda item: (-item[1].get("time_ns", 0), item[0])))


def number(value: object) -> int:
    """What an attribute counts; whatever else it may say counts nothing."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else 0
