"""Wraps the application that a server runs in the middleware of its interface, WSGI or ASGI."""

from __future__ import annotations

from inspect import isclass, iscoroutinefunction
from typing import Any

from walltime.errors import contain
from walltime.servers.gateways.asgi import ASGIMiddleware
from walltime.servers.gateways.transparent import SERVES
from walltime.servers.gateways.wsgi import WSGIMiddleware


def hosted(app: Any) -> Any:
    """
    Return what the server should run in place of the application.

    That is itself when it opens transactions already, or is not callable.
    """
    try:
        kind = type(app)  # `isinstance` would ask the application behind a middleware
        if issubclass(kind, (WSGIMiddleware, ASGIMiddleware)) or not callable(app):
            return app
        if hasattr(kind.__call__, SERVES):  # an instrumented framework opens the transaction itself
            return app
        return ASGIMiddleware(app) if _is_asgi(app) else WSGIMiddleware(app)
    except Exception as ours:
        contain("server", ours)
        return app


def _is_asgi(app: Any) -> bool:
    if isclass(app):  # ASGI 2: called with the scope, then awaited
        return hasattr(app, "__await__")
    return iscoroutinefunction(app) or iscoroutinefunction(type(app).__call__)
