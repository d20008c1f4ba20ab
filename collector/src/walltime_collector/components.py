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
    "rows",
    "deadlocks",
    "lock_timeouts",
)
FAMILIES = ("mysql", "memcache", "http", "python", "custom", "other")
"""What one colour stands for. `custom` is everything the application named itself, `other` the time in no component."""

_COLUMN = re.compile(
    rf"(?:sum\()?(?P<system>[a-z0-9]+)_(?P<operation>[a-z0-9_]+?)_(?P<counter>{'|'.join(COUNTERS)})\)?"
)
_CUSTOM = re.compile(rf"custom_(?P<counter>{'|'.join(COUNTERS)})")


def family(component: str) -> str:
    """The family a component belongs to, one of FAMILIES."""
    if component == "other":
        return "other"
    system, dot, _ = component.partition(".")
    return system if dot and system in FAMILIES[:4] else "custom"


def counters_by_component(row: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """
    Gather the counters of one row (of a transaction, or `sum(…)` over many) by component.

    Components without a call and without time are left out, the most expensive comes first.
    """
    gathered: dict[str, dict[str, int]] = {}
    for column, value in row.items():
        if custom := _CUSTOM.fullmatch(column):
            for component, number in value.items():
                gathered.setdefault(component, {})[custom["counter"]] = int(number)
        elif (built_in := _COLUMN.fullmatch(column)) and value:
            component = f"{built_in['system']}.{built_in['operation']}"
            gathered.setdefault(component, {})[built_in["counter"]] = int(value)
    used = {name: counters for name, counters in gathered.items() if any(counters.values())}
    return dict(sorted(used.items(), key=lambda item: (-item[1].get("time_ns", 0), item[0])))
