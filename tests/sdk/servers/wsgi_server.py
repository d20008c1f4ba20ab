"""A WSGI application served by one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.util import setup_testing_defaults

import walltime

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"


def serve(app: Any, environ: dict[str, Any] | None = None) -> tuple[str, list[tuple[str, str]], bytes]:
    """Call a WSGI application as a server does."""
    answered: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], object]:
        answered[:] = [status, headers]
        return lambda block: None

    full: dict[str, Any] = {}
    setup_testing_defaults(full)
    full.update(environ or {})
    body = app(full, start_response)
    try:
        content = b"".join(body)
    finally:
        if hasattr(body, "close"):
            body.close()
    return answered[0], answered[1], content


def page(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    walltime.current().set_name("GET /product/{id}")
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]
