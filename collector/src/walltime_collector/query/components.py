"""
What a component counts: the one table of counters and of columns.

Answers and printed rows are made from it. tests/collector/query/test_components.py compares it with the schema files,
the views, docs/wire.md and the SDK, so that a counter is never in one of them alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal


@dataclass(frozen=True)
class Note:
    """What is printed behind a counter that is not 0: its number and `one`, or `many`."""

    one: str
    many: str = ""
    severity: Literal["", "warning", "error"] = ""


def _noted(one: str, many: str = "", severity: Literal["", "warning", "error"] = "") -> Any:
    return field(default=0, metadata={"note": Note(one, many, severity)})


_SKIPPED = "skipped: the server was known to be dead"


@dataclass(frozen=True)
class Component:
    """One row of a bill. Each field but the name is a counter: `walltime.<component>.<counter>` on the wire."""

    name: str
    calls: int = 0
    time_ns: int = 0
    """Exclusive: the time of a component that was called inside this one is in that one's row."""
    max_ns: int = 0
    errors: int = _noted("error", severity="error")
    deadlocks: int = _noted("deadlock", severity="error")
    lock_timeouts: int = _noted("lock timeout", severity="error")
    keys: int = 0
    hits: int = 0
    misses: int = 0
    not_stored: int = _noted("value not stored", "values not stored")
    skipped: int = _noted(_SKIPPED, _SKIPPED, "warning")
    """Calls that were not made, because their server was known to be dead; they are not among `calls`."""
    rows: int = _noted("row")
    cpu_ns: int = 0
    """CPU time of the thread in its calls, of components where it is measured."""


COUNTERS = tuple(each.name for each in fields(Component))[1:]
NOTES: Mapping[str, Note] = {each.name: each.metadata["note"] for each in fields(Component) if "note" in each.metadata}

OF_ALL = ("calls", "time_ns", "max_ns", "errors")
"""Every component has these; of components without columns they are in the maps `custom_<counter>`."""
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "mysql.connect": OF_ALL,
    "mysql.query": (*OF_ALL, "rows", "deadlocks", "lock_timeouts"),
    "mysql.fetch": (*OF_ALL, "rows"),
    "mysql.commit": OF_ALL,
    "memcache.connect": OF_ALL,
    "memcache.get": (*OF_ALL, "keys", "hits", "misses"),
    "memcache.set": (*OF_ALL, "not_stored"),
    "memcache.delete": (*OF_ALL, "keys", "hits", "misses"),
    "memcache.incr": (*OF_ALL, "keys", "hits", "misses"),
    "http.connect": OF_ALL,
    "http.request": OF_ALL,
}
"""The components with columns: `mysql_query_time_ns` in `transactions` is `time_ns` of `mysql.query`."""
SQL = ("mysql.query", "mysql.fetch")
"""The components whose time the statements split, and which have rows."""
LOOKUPS = ("memcache.get", "redis.get", "redis.mget", "redis.hget", "redis.hmget", "redis.hgetall")
"""A miss of these components makes an application query elsewhere; the same list as in queries/why/lost_lookups.sql."""
SYSTEMS = ("mysql", "memcache", "redis", "http", "python")
"""`<system>.<operation>` are components of a client, or of the interpreter."""
FRAMEWORK = frozenset({
    "middleware", "view", "template.render", "serialize", "orm.compile", "orm.load", "session", "auth",
})  # fmt: skip
"""The components of frameworks, which have no server."""
CONTAINERS = frozenset({"middleware", "view", "other"})
"""Their own time is what no other component explains; sampled lines split it."""
FAMILIES = (*SYSTEMS, "framework", "custom", "view", "other")
"""Components with one colour. `custom` are those that the application named, `other` is the time in no component."""
MEANINGS: Mapping[str, str] = {
    "framework": "framework: templates, ORM, …",
    "custom": "the application's own",
    "view": "view, middleware: in no component inside",
    "other": "other: in no measured call",
}
"""Families whose name does not say what they are."""

_BY_COLUMN = {
    f"{component.replace('.', '_')}_{counter}": (component, counter)
    for component, counters in COLUMNS.items()
    for counter in counters
}
_MAPS = {f"custom_{counter}": counter for counter in OF_ALL}


@dataclass(frozen=True)
class Sums:
    """The counters that are added up over many transactions."""

    calls: int = 0
    time_ns: int = 0
    errors: int = 0
    hits: int = 0
    misses: int = 0


SUMMED = tuple(each.name for each in fields(Sums))


def sums(counters: Mapping[str, Any], prefix: str = "") -> Sums:
    """Those of the counters that are added up; one that is missing is 0."""
    return Sums(**{name: int(counters.get(prefix + name, 0)) for name in SUMMED})


def family(component: str) -> str:
    """The family a component belongs to, one of FAMILIES."""
    if component == "other":
        return "other"
    if component in FRAMEWORK:
        return "view" if component in CONTAINERS else "framework"
    system, dot, _ = component.partition(".")
    return system if dot and system in SYSTEMS else "custom"


def counter_of(column: str, key: str = "") -> tuple[str, str] | None:
    """
    The component and the counter that a column of `transactions` has; None for other columns.

    Args:
        column: Also inside of functions: `sum(mysql_query_calls)`, `sum(multiply(mysql_query_calls, weight))`.
        key: For a column that is a map, its key: a component of the custom_* maps, else the name of an attribute.
    """
    if column in ("attributes", "more_counters"):
        component, _, counter = key.removeprefix("walltime.").rpartition(".")
        return (component, counter) if component and key.startswith("walltime.") and counter in COUNTERS else None
    return (
        (key, _MAPS[column])
        if column in _MAPS
        else _BY_COLUMN.get(column.rpartition("(")[2].partition(",")[0].rstrip(")"))
    )


def counters_by_component(row: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """
    Gather the counters of one row (of a transaction, or `sum(…)` over many) by component.

    A counter without a column (`walltime.redis.get.hits`) is among the `attributes` of a row, or summed up in
    `more_counters`. Components without a call and without time are left out, the most expensive comes first.
    """
    gathered: dict[str, dict[str, int]] = {}
    for column, value in row.items():
        for key, counted in value.items() if isinstance(value, dict) else [("", value)]:
            if counted and (name := counter_of(column, key)) and (whole := number(counted)):
                gathered.setdefault(name[0], {})[name[1]] = whole
    used = {name: counters for name, counters in gathered.items() if any(counters.values())}
    return dict(sorted(used.items(), key=lambda item: (-item[1].get("time_ns", 0), item[0])))


def number(value: object) -> int:
    """An attribute as a number; 0 when its value is anything else."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else 0
