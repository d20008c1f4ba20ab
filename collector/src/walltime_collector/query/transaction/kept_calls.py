"""Reads one kept call, or a span of another instrumentation, from its row and its attributes."""

from __future__ import annotations

from collections.abc import Mapping

from ..answers import Call
from ..components import number
from ..queries import Row


def kept_call(row: Row, transaction_started_ns: int) -> Call:
    """A row of queries/show/calls.sql as an answer."""
    attributes: Mapping[str, str] = row["attributes"]
    host, port = attributes.get("server.address", ""), attributes.get("server.port", "")
    system = row["component"].partition(".")[0]
    text = _first(attributes, "db.query.text", f"walltime.{system}.key", "url.full", "db.statement", "http.url")
    error = _first(attributes, "error.type", "db.response.status_code")
    if not error and row["status"].upper().endswith("ERROR"):
        error = row["status_message"] or "failed"
    return Call(
        component=row["component"],
        name=row["name"],
        offset_ns=row["started_ns"] - transaction_started_ns,
        duration_ns=row["duration_ns"],
        own_ns=row["own_ns"],
        address=row["address"] or (f"{host}:{port}" if host and port else host),
        text=row["statement"] or text,
        result=_result(attributes, system),
        error=error,
        source=source(attributes),
        connection_id=number(attributes.get("walltime.mysql.connection_id", "")),
    )


def _result(attributes: Mapping[str, str], system: str) -> str:
    rows = attributes.get("db.response.returned_rows", "")
    result = f"{rows} row{'' if rows == '1' else 's'}" if rows else ""
    result = result or _first(attributes, f"walltime.{system}.result", "http.response.status_code")
    resends = attributes.get("http.request.resend_count", "")
    return f"{result}, attempt {number(resends) + 1}".removeprefix(", ") if resends else result


def source(attributes: Mapping[str, str]) -> str:
    """The place in the application, by the semantic conventions' names since 1.30, and by those before."""
    path = _first(attributes, "code.file.path", "code.filepath")
    line = _first(attributes, "code.line.number", "code.lineno")
    place = f"{path}:{line}" if path and line else path
    place = f"{place} {_first(attributes, 'code.function.name', 'code.function')}".strip()
    return f"most likely {place}" if place and attributes.get("walltime.code.guessed") == "true" else place


def _first(attributes: Mapping[str, str], *keys: str) -> str:
    return next((attributes[key] for key in keys if attributes.get(key)), "")
