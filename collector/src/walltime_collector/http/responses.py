"""JSON responses of the web port; none is cached, and an error has three parts: where, what, what now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def json_response(document: Mapping[str, Any], status: int = 200) -> JSONResponse:
    """A document."""
    return JSONResponse(document, status, HEADERS)


def problem(status: int, where: str, what: str, what_now: str) -> JSONResponse:
    """An error."""
    return json_response({"error": {"where": where, "what": what, "what_now": what_now}}, status)
