"""The fields of a condition: those of a transaction, and each counter of each component."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ..components import COLUMNS, COUNTERS, OF_ALL, SYSTEMS
from .tree import Field, Type

_WORDS = {"time_ns": "time", "max_ns": "max"}
_COUNTERS = {_WORDS.get(counter, counter): counter for counter in COUNTERS}
"""As they are written → as they are stored."""
_MAPS = dict.fromkeys(_COUNTERS.values(), "attributes")
_MAPS |= {counter: f"custom_{counter}" for counter in OF_ALL}
_MAPS |= dict.fromkeys(("hits", "misses", "skipped"), "more_counters")
"""Where the counters of components without columns are."""
_LIKE, _LIKE_PART = 0.6, 0.75
_OF_TRANSACTION = (
    Field("duration", "time", "transactions.duration_ns"),
    Field("kind", "text", "transactions.name"),
    *(
        Field(name, "text", f"transactions.{name}")
        for name in ("service", "host", "instance", "version", "environment", "user")
    ),
    *(Field(name, "text", f"transactions.{name}") for name in ("method", "kept")),
    Field("status", "status", "transactions.http_status"),
    Field("error", "flag", "transactions.is_error"),
    Field("error.type", "text", "transactions.error_type"),
    Field("server", "texts", "transactions.target.address"),
    Field("statement", "texts", "transactions.statement.text"),
    Field("other.time", "time", "transactions.other_ns"),
    Field("cpu.time", "time", "(ifNull(transactions.cpu_user_ns, 0) + ifNull(transactions.cpu_system_ns, 0))"),
    Field("cpu.wait", "time", "ifNull(transactions.cpu_wait_ns, 0)"),
    Field("cpu.throttled", "time", "transactions.cpu_throttled_ns"),
    Field("loop.run", "time", "ifNull(transactions.loop_run_ns, 0)"),
    Field("loop.wait", "time", "ifNull(transactions.loop_wait_ns, 0)"),
    Field("queue.time", "time", "ifNull(transactions.queue_ns, 0)"),
    Field("lock.time", "locks", "-- include find/_waited.sql"),
    Field("memory.growth", "size", "transactions.peak_rss_growth_bytes"),
)
STARTED = Field("time", "time", "toUnixTimestamp64Nano(transactions.started_at)")
"""For sorting only: a question has its window of time."""
ANNOTATION = "annotation"
"""`annotation.KEY` is an attribute of the transaction."""


def _type(counter: str) -> Type:
    return "time" if counter.endswith("_ns") else "number"


def _column(component: str, counter: str) -> str:
    return f"transactions.{component.replace('.', '_')}_{counter}"


def _number(counter: str, value: str) -> str:
    return f"toUInt64OrZero({value})" if _MAPS[counter] == "attributes" else value


def _of_component(component: str, written: str) -> Field:
    """A counter of one component, which may be one that only the application knows."""
    counter = _COUNTERS[written]
    name = f"{component}.{written}"
    if counter in COLUMNS.get(component, ()):
        return Field(name, _type(counter), _column(component, counter))
    key = component if counter in OF_ALL else f"walltime.{component}.{counter}"
    return Field(name, _type(counter), _number(counter, f"transactions.{_MAPS[counter]}[{{}}]"), (key,))


def _of_system(system: str, written: str) -> Field:
    """A counter of all components of a system (`mysql`), or of all there are; `max` is the longest call."""
    counter, prefix = _COUNTERS[written], f"{system}." if system else ""
    fold, join = ("arrayMax", ", ") if counter == "max_ns" else ("arraySum", " + ")
    is_meant, keys = "startsWith(key, {})", [prefix]
    if counter not in OF_ALL:
        is_meant, keys = f"{is_meant} AND endsWith(key, {{}})", [f"walltime.{prefix}", f".{counter}"]
    column = f"transactions.{_MAPS[counter]}"
    each = f"(key, value) -> if({is_meant}, {_number(counter, 'value')}, 0)"
    parts = [
        *(
            _column(component, counter)
            for component, counters in COLUMNS.items()
            if counter in counters and component.startswith(prefix)
        ),
        f"{fold}({each}, mapKeys({column}), mapValues({column}))",
    ]
    sql = f"{'greatest' if counter == 'max_ns' else ''}({join.join(parts)})"
    return Field(f"{system}.{written}" if system else written, _type(counter), sql, tuple(keys))


_FIELDS = {
    each.name: each
    for each in (
        *_OF_TRANSACTION,
        *(
            _of_component(name, _WORDS.get(counter, counter))
            for name, counters in COLUMNS.items()
            for counter in counters
        ),
        *(_of_system(system, written) for system in SYSTEMS for written in _COUNTERS),
        *(_of_system("", written) for written in ("calls", "hits", "misses", "rows")),
    )
}
NAMES: Sequence[str] = (*_FIELDS, f"{ANNOTATION}.KEY")
"""All fields with a fixed name; a component that only the application knows has the counters of every component."""


def field(parts: Sequence[tuple[str, bool]]) -> Field:
    """
    The field with this name.

    Args:
        parts: Of the name, between its dots; True where a part was written in quotes.

    Raises:
        LookupError: There is none; its text is what to write instead.
    """
    texts = [text for text, _ in parts]
    name = ".".join(texts)
    if known := _FIELDS.get(name) or _FIELDS.get(name.lower()):
        return known
    if texts[0].lower() == ANNOTATION and len(texts) > 1 and all(texts[1:]):
        key = ".".join(texts[1:])
        return Field(f"{ANNOTATION}.{key}", "attribute", "transactions.attributes[{}]", (key,))
    component, counter = ".".join(texts[:-1]), texts[-1].lower()
    is_quoted = any(quoted for _, quoted in parts[:-1])
    if component and counter in _COUNTERS and (is_quoted or not _is_mistyped(component)):
        return _of_component(component, counter)
    raise LookupError(_advice(name))


def _is_mistyped(component: str) -> bool:
    """Whether it is nearly a component that there is; in quotes it may be one of the application."""
    system, _, operation = component.partition(".")
    if system in SYSTEMS:
        known = [each.partition(".")[2] for each in COLUMNS if each.startswith(f"{system}.")]
        return bool(difflib.get_close_matches(operation, known, 1, _LIKE_PART))
    return bool(difflib.get_close_matches(system, SYSTEMS, 1, _LIKE_PART))


def _advice(name: str) -> str:
    if close := difflib.get_close_matches(name.lower(), NAMES, 3, _LIKE):
        return f"there is {', '.join(close)}"
    if name.lower() == ANNOTATION:
        return "write annotation.KEY"
    return (
        f"write one of {', '.join(each.name for each in _OF_TRANSACTION)}, annotation.KEY, "
        f"or COMPONENT.COUNTER as mysql.query.calls; counters are {', '.join(_COUNTERS)}"
    )
