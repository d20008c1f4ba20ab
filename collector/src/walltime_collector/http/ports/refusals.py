"""The response to a request that is refused before it reaches the application."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

RETRY_AFTER_S = 5

Wording = Callable[[int, str], tuple[str, bytes]]
"""Makes the body of an error from its status and a sentence; returns its content type and the body."""


class Refused(Exception):
    """A request is refused during parsing; `reason` is a word for the counters."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


NOT_HTTP = Refused(400, "not_http", "this is not an HTTP request")
NO_MEMORY = Refused(503, "memory", "the collector has not enough memory now; send again later")
TOO_MANY = (400, "pipelined", "too many requests at once on one connection; wait for the answers")


def error_response(status: int, message: str, wording: Wording) -> bytes:
    """A complete error response, after which the connection is closed."""
    content_type, body = wording(status, message)
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "connection: close"]
    lines += [f"content-type: {content_type}", f"content-length: {len(body)}"]
    if status == 503:
        lines.append(f"retry-after: {RETRY_AFTER_S}")
    return "\r\n".join([*lines, "", ""]).encode() + body
