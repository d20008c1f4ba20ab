"""The bodies of error responses that a port sends before a request reaches its application."""

from __future__ import annotations

import json

_CLICKHOUSE_CODES = {503: 202, 414: 191, 431: 191}
_CLICKHOUSE_NAMES = {202: "TOO_MANY_SIMULTANEOUS_QUERIES", 191: "REQUEST_TOO_LARGE", 62: "SYNTAX_ERROR"}


def web_wording(status: int, message: str) -> tuple[str, bytes]:
    """In the format of the API."""
    what, _, what_now = message.partition("; ")
    error = {"where": "connection" if status == 503 else "request", "what": what, "what_now": what_now}
    return "application/json", json.dumps({"error": error}).encode()


def clickhouse_wording(status: int, message: str) -> tuple[str, bytes]:
    """In the format of ClickHouse."""
    code = _CLICKHOUSE_CODES.get(status, 62)
    text = f"Code: {code}. DB::Exception: {message}. ({_CLICKHOUSE_NAMES[code]})\n"
    return "text/plain; charset=UTF-8", text.encode()
