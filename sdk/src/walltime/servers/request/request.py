"""A web request, for every server: open its transaction, name it by its route, record its response."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from opentelemetry.context import Context

from walltime import runtime
from walltime.core.execution import current, inherited
from walltime.errors import contain, guarded
from walltime.instrumentation.expected import is_broken_off
from walltime.redaction.sanitize import text
from walltime.servers.request.forced import is_forced
from walltime.servers.request.headers import caller, has_any
from walltime.servers.request.queue_time import queue_ns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from walltime.core.transaction import Transaction

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"})
MARK: Final = "walltime.transaction"
"""Key of the WSGI environ and the ASGI scope: the request has a transaction, so inner layers open none."""
WEBSOCKET: Final = "WEBSOCKET"
_NO_PARENT: Final = Context()


def open_request(
    method: str, scheme: str, path: str, headers: Mapping[str, Any], started_ns: int, task: int = 0
) -> runtime.Open:
    """
    Open and enter the transaction of a request, named by its method until the route is known.

    Args:
        headers: under their WSGI names, `HTTP_TRACEPARENT`.
        task: the asyncio task that serves it, see `Open.enter`.
    """
    if method not in METHODS:
        method = "_OTHER"
    has_headers = has_any(headers)
    parent = caller(headers) if has_headers else None
    if parent is None and inherited() is not None:
        left = current()
        if left is not None and left.transaction.duration_ns:
            parent = _NO_PARENT  # left over: another thread closed the last request of this one
    opened = runtime.Open(method, "server", parent, started_ns)
    transaction = opened.transaction
    settings = transaction.settings
    transaction.method = method
    transaction.scheme = scheme
    transaction.path = path
    if has_headers:
        transaction.queue_ns = queue_ns(headers, transaction.started_at_ns)
        if settings.force_secret and is_forced(headers, settings.force_secret):
            transaction.keep()
            opened.shows_bill = True
    if settings.server_timing:
        opened.shows_bill = True
    opened.enter(task)
    return opened


def name_by_route(route: str) -> None:
    """Name the running request by the template of its route. Never raises."""
    try:
        execution = current()
        if execution is not None:
            transaction = execution.transaction
            if transaction.duration_ns:
                return
            if transaction.method:
                transaction.set_name(f"{transaction.method} {route}")
            elif transaction.name.startswith(WEBSOCKET):
                transaction.set_name(f"{WEBSOCKET} {route}")
    except Exception as ours:
        contain("route", ours)


@guarded("route")
def routed_to(page: object) -> None:
    """
    Name the running request by its page instead of a catch-all route: `GET /{path}` becomes `GET /{HomePage}`.

    It is for content management systems, where one route serves every path. Call it in the view or in a middleware
    around it. Wagtail pages are named automatically.

    Args:
        page: an object, whose class is the name, or the name itself: few distinct names.
    """
    execution = current()
    if execution is None or execution.transaction.duration_ns:
        return
    word = page if type(page) is str else (page if isinstance(page, type) else type(page)).__name__
    method, _, route = execution.transaction.name.partition(" ")
    if route:
        execution.transaction.set_name(f"{method} {_leading_to(route, text(word))}")


def _leading_to(route: str, word: str) -> str:
    """Return the route with the word in place of its last parameter, or appended."""
    before, brace, behind = route.rpartition("{")
    if not brace or behind.startswith("language}"):
        return f"{route.rstrip('/')}/{{{word}}}"
    return f"{before}{{{word}}}{behind.partition('}')[2]}"


def answered(transaction: Transaction, status: int) -> None:
    """
    Record the response's status; 5xx is a failure of the application, 4xx of the client.

    The failure has the name of the exception that is being handled, if any: Starlette responds within its `except`.
    """
    transaction.http_status = status
    if status >= 500:
        handled = sys.exc_info()[0]
        transaction.is_error = True
        transaction.error_type = transaction.error_type or (str(status) if handled is None else handled.__name__)


@guarded("outcome")
def failed(transaction: Transaction, error: BaseException) -> None:
    """
    Record an exception of the application. Never raises.

    An exception that ends a task or a generator from outside (the client disconnected, the server stops) is not a
    failure: the response is `incomplete`. After the response it is recorded apart; after the end it is ignored.
    """
    if transaction.duration_ns:
        if not transaction.is_over and not is_broken_off(error):
            transaction.after_error_type = type(error).__name__
    elif is_broken_off(error):
        incomplete(transaction)
    else:
        transaction.fail(type(error).__name__)


@guarded("outcome")
def failed_now(error: BaseException) -> None:
    """`failed` for the running transaction, if there is one. Never raises."""
    execution = current()
    if execution is not None:
        failed(execution.transaction, error)


@guarded("outcome")
def incomplete(transaction: Transaction) -> None:
    """Record that the client disconnected or the application stopped before the response was sent. Never raises."""
    transaction.annotate("walltime.incomplete", True)
