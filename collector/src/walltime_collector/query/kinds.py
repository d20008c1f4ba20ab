"""Finds the service, the kind or the trace that a text means, when it was cut, copied or mistyped."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from ..clickhouse.engine import Engine
from ..errors import BadParameter, NotStored
from ..format import iso_time, printable, quoted
from .names import Kind, find, listed, quoted_name, shown
from .queries import Row, run
from .windows import Comparison, Window

_CLOSE = 0.4
_TRACE_DIGITS = 32
_LISTED = 5
_COMPARED = 1_000
"""An unknown name is compared with so many, the most frequent ones."""


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
    Suggestions for filters.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    (row,) = run(engine, "kinds/filter_values")
    return FilterValues(**{each.name: tuple(map(str, row[each.name])) for each in fields(FilterValues)})


def services(engine: Engine) -> list[str]:
    """
    All stored services.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    return [str(row["service"]) for row in run(engine, "kinds/services")]


def service(engine: Engine, written: str) -> str:
    """
    The service that `written` means; a text that no service is like is returned as it is.

    Raises:
        BadParameter: Several services match.
        EngineUnavailable: The engine cannot answer now.
    """
    if not written or run(engine, "kinds/has_service", service=written):
        return written
    names = services(engine)
    if written in names:
        return written
    known = [Kind("", name) for name in names]
    matches = find(written, known)
    if len(matches) > 1:
        raise BadParameter("service", f"{quoted(written)} can be {listed(matches, known)}", "write one of them whole")
    return matches[0].name if matches else written


def kind(engine: Engine, written: str, service: str, windows: Mapping[str, int]) -> Sequence[Row]:
    """
    The one name that `written` means, a row for each service that has it: see queries/kinds/names.sql.

    Kinds with transactions in the windows take precedence.

    Raises:
        NotStored: No name matches, or several do, and it lists them.
        EngineUnavailable: The engine cannot answer now.
    """
    if written and (rows := run(engine, "kinds/names", name=written, service=service, **windows)):
        return sorted(rows, key=lambda row: str(row["service"]))
    rows = run(engine, "kinds/names", name="", service=service, **windows)
    known = {Kind(row["service"], row["name"]): row for row in rows}
    matches = find(written, list(known))
    matches = [each for each in matches if known[each]["slow"] or known[each]["usual"]] or matches
    if not matches:
        raise _unknown(written, service, list(known))
    if len({each.name for each in matches}) > 1:
        candidates = listed(matches, list(known))
        raise NotStored("kind", f"{quoted(written)} can be {candidates}", "write one of them whole")
    return [known[each] for each in sorted(matches, key=lambda each: each.service)]


def kind_in(engine: Engine, written: str, service: str, window: Window) -> Sequence[Row]:
    """The same for one window."""
    return kind(engine, written, service, Comparison(window, window).parameters())


def one_of_services(name: str, services: Sequence[str]) -> str:
    """
    The service of a kind.

    Raises:
        BadParameter: There are several.
    """
    if len(services) > 1:
        what = f"{quoted(shown(name))} is a kind of several services: {', '.join(map(printable, services))}"
        raise BadParameter("service", what, "say --service")
    return services[0]


def trace(engine: Engine, beginning: str) -> str:
    """
    The trace id that begins with these digits; a whole one is returned as it is.

    Raises:
        NotStored: No stored trace id begins with them, or several do.
        EngineUnavailable: The engine cannot answer now.
    """
    if len(beginning) == _TRACE_DIGITS:
        return beginning
    first, last = beginning.ljust(_TRACE_DIGITS, "0"), beginning.ljust(_TRACE_DIGITS, "f")
    rows = run(engine, "kinds/traces", first=first, last=last, limit=_LISTED + 1)
    if not rows:
        raise NotStored(
            "trace_id",
            f"no trace id of a stored transaction begins with {beginning}",
            "a new one is there about 2 s after its request ended, and goes when its retention is over",
        )
    if len(rows) > 1:
        candidates = [
            f"{row['trace']} ({shown(row['name'])} at {iso_time(int(row['started_ns']))[:19]})" for row in rows
        ]
        shown_ones = "; ".join(candidates[:_LISTED]) + (" and more" if len(rows) > _LISTED else "")
        raise NotStored(
            "trace_id", f"several trace ids begin with {beginning}: {shown_ones}", "write more digits of one"
        )
    return str(rows[0]["trace"])


def _unknown(written: str, service: str, known: list[Kind]) -> NotStored:
    by_name = {shown(each.name): each for each in reversed(known[:_COMPARED])}
    close = difflib.get_close_matches(printable(written), by_name, n=3, cutoff=_CLOSE)
    what_now = f"there is {', '.join(quoted_name(by_name[name], known) for name in close)}" if close else ""
    of = f" of service {quoted(service)}" if service else ""
    what = f"no transaction {quoted(written)}{of} is stored"
    return NotStored("kind", what, what_now or "`walltime top` shows which there are")
