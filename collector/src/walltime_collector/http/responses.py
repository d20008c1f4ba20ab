"""JSON responses of the web port; none is cached, and an error has three parts: where, what, what now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

ERROR_PAGE = "walltime.error_page"
"""Key of the ASGI scope: a function with the parameters of `problem`, which makes the error a page for people."""


def json_response(document: Mapping[str, Any], status: int = 200) -> JSONResponse:
    """A document."""
    return JSONResponse(document, status, HEADERS)


def problem(status: int, where: str, what: str, what_now: str) -> JSONResponse:
    """An error."""
    return json_response({"error": {"where": where, "what": what, "what_now": what_now}}, status)


def web_wording(status: int, message: str) -> tuple[str, bytes]:
    """The content type and body of an error of a request that did not reach the web port's application."""
    what, _, what_now = message.partition("; ")
    return "application/json", bytes(problem(status, "connection" if status == 503 else "request", what, what_now).body)


def refusal(request: Request, status: int, where: str, what: str, what_now: str) -> Response:
    """An error: a page when the request is for one, else JSON."""
    response: Response = request.scope.get(ERROR_PAGE, problem)(status, where, what, what_now)
    return response
