"""Reads one kept call, or a span of another instrumentation, from its row and its attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .answers import Call
from .components import number


def kept_call(row: Mapping[str, Any], transaction_started_ns: int) -> Call:
    """A row of queries/show_calls.sql as an answer."""
    said: Mapping[str, str] = row["attributes"]
    host, port = said.get("server.address", ""), said.get("server.port", "")
    system = row["component"].partition(".")[0]
    failed = row["status"].upper().endswith("ERROR")
    return Call(
        component=row["component"],
        name=row["name"],
        offset_ns=int(row["started_ns"]) - transaction_started_ns,
        duration_ns=int(row["duration_ns"]),
        own_ns=int(row["own_ns"]),
        address=row["address"] or (f"{host}:{port}" if host and port else host),
        text=row["statement"]
        or _first(said, "db.query.text", f"walltime.{system}.key", "url.full", "db.statement", "http.url"),
        result=_result(said, system),
        error=_first(said, "error.type", "db.response.status_code")
        or (row["status_message"] or "failed" if failed else ""),
        source=source(said),
        connection_id=number(said.get("walltime.mysql.connection_id", "")),
    )


def _result(said: Mapping[str, str], system: str) -> str:
    rows = said.get("db.response.returned_rows", "")
    result = f"{rows} row{'' if rows == '1' else 's'}" if rows else ""
    result = result or _first(said, f"walltime.{system}.result", "http.response.status_code")
    again = said.get("http.request.resend_count", "")
    return f"{result}, attempt {number(again) + 1}".removeprefix(", ") if again else result


def source(said: Mapping[str, str]) -> str:
    """The place in the application, by the semantic conventions' names since 1.30, and by those before."""
    path = _first(said, "code.file.path", "code.filepath")
    line = _first(said, "code.line.number", "code.lineno")
    place = f"{path}:{line}" if path and line else path
    found = f"{place} {_first(said, 'code.function.name', 'code.function')}".strip()
    return f"most likely {found}" if found and said.get("walltime.code.guessed") == "true" else found


def _first(attributes: Mapping[str, str], *keys: str) -> str:
    return next((attributes[key] for key in keys if attributes.get(key)), "")
