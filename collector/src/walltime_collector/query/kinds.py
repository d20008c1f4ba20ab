"""Finds the service or the kind that a question means, when its name was cut, copied or mistyped."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from ..clickhouse.engine import Engine
from ..errors import BadParameter, NotStored
from ..format import printable
from .names import Kind, find, listed, quoted, shown
from .questions import iso, run

_CLOSE = 0.4
_TRACE_DIGITS = 32
_LISTED = 5
_LOOKED_AT = 1_000
"""Of so many names, the most frequent, those that are like an unknown one are looked for."""


def services(engine: Engine) -> list[str]:
    """
    The services that anything is stored of.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    return [str(row["service"]) for row in run(engine, "services")]


def service(engine: Engine, written: str) -> str:
    """
    The service that is meant; what is like none is returned as it is, and nothing is stored of it.

    Raises:
        BadParameter: Several services are called like this.
        EngineUnavailable: The engine cannot answer now.
    """
    if not written:
        return ""
    names = services(engine)
    if written in names:
        return written
    known = [Kind("", name) for name in names]
    found = find(written, known)
    if len(found) > 1:
        raise BadParameter("service", f"{_quoted(written)} can be {listed(found, known)}", "write one of them whole")
    return found[0].name if found else written


def kind(engine: Engine, written: str, service: str, windows: Mapping[str, int]) -> list[Mapping[str, object]]:
    """
    The one name that is meant, a row for each service that has it: see queries/why_services.sql.

    Kinds with transactions in the windows go before those without.

    Raises:
        NotStored: None is called like this, or several are, and it lists them.
        EngineUnavailable: The engine cannot answer now.
    """
    if rows := run(engine, "why_services", name=written, service=service, **windows):
        return list(rows)
    rows = run(engine, "why_names", service=service, **windows)
    known = {Kind(row["service"], row["name"]): row for row in rows}
    found = find(written, list(known))
    found = [each for each in found if known[each]["slow"] or known[each]["usual"]] or found
    if not found:
        raise _unknown(written, service, list(known))
    if len({each.name for each in found}) > 1:
        candidates = listed(found, list(known))
        raise NotStored("kind", f"{_quoted(written)} can be {candidates}", "write one of them whole")
    return [known[each] for each in sorted(found, key=lambda each: each.service)]


def trace(engine: Engine, beginning: str) -> str:
    """
    The trace id that begins like this; a whole one is returned as it is.

    Raises:
        NotStored: No transaction has such a trace id, or several traces have.
        EngineUnavailable: The engine cannot answer now.
    """
    if len(beginning) == _TRACE_DIGITS:
        return beginning
    first, last = beginning.ljust(_TRACE_DIGITS, "0"), beginning.ljust(_TRACE_DIGITS, "f")
    rows = run(engine, "traces", first=first, last=last, limit=_LISTED + 1)
    if not rows:
        raise NotStored(
            "trace_id",
            f"no trace id of a stored transaction begins with {beginning}",
            "a new one is there about 2 s after its request ended, and goes when its retention is over",
        )
    if len(rows) > 1:
        candidates = [f"{row['trace']} ({shown(row['name'])} at {iso(int(row['started_ns']))[:19]})" for row in rows]
        said = "; ".join(candidates[:_LISTED]) + (" and more" if len(rows) > _LISTED else "")
        raise NotStored("trace_id", f"several trace ids begin with {beginning}: {said}", "write more digits of one")
    return str(rows[0]["trace"])


def _unknown(written: str, service: str, known: list[Kind]) -> NotStored:
    by_name = {shown(each.name): each for each in reversed(known[:_LOOKED_AT])}
    close = difflib.get_close_matches(printable(written), by_name, n=3, cutoff=_CLOSE)
    there = f"there is {', '.join(quoted(by_name[name], known) for name in close)}" if close else ""
    of = f" of service {_quoted(service)}" if service else ""
    return NotStored(
        "kind", f"no transaction {_quoted(written)}{of} is stored", there or "`walltime top` shows which there are"
    )


def _quoted(text: str) -> str:
    plain = printable(text)
    return f"'{plain[:120]}…'" if len(plain) > 120 else f"'{plain}'"
