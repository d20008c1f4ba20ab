"""A web request as every server sees it: opening its transaction, naming it by its route, how it was answered."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from opentelemetry.context import Context

from walltime import runtime
from walltime.core.execution import current
from walltime.errors import contain
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
"""Key of the WSGI environ and the ASGI scope: the request has its transaction, what is further in opens none."""
WEBSOCKET: Final = "WEBSOCKET"
_NOBODY: Final = Context()
_LEAVING: Final = frozenset({"CancelledError", "GeneratorExit", "GreenletExit"})


def open_request(
    method: str, scheme: str, path: str, headers: Mapping[str, Any], started_ns: int, task: int = 0
) -> runtime.Open:
    """
    Open and enter the transaction of a request, named by its method until the route is known.

    Args:
        headers: as WSGI names them, `HTTP_TRACEPARENT`.
        task: the asyncio task that serves it, see `Open.enter`.
    """
    if method not in METHODS:
        method = "_OTHER"
    says = has_any(headers)
    parent = caller(headers) if says else None
    if parent is None:
        left = current()
        if left is not None and left.transaction.duration_ns:
            parent = _NOBODY  # the last request of this thread was closed in another one, its span is no parent
    settings = runtime.settings()
    opened = runtime.Open(method, "server", parent, started_ns)
    transaction = opened.transaction
    transaction.method = method
    transaction.scheme = scheme
    transaction.path = path
    if says:
        transaction.queue_ns = queue_ns(headers, transaction.started_at_ns)
        if settings.force_secret and is_forced(headers, settings.force_secret):
            transaction.keep()
            opened.shows_bill = True
    if settings.server_timing:
        opened.shows_bill = True
    opened.enter(task)
    return opened


def name_by_route(route: str) -> None:
    """Name the running request by the route's template, as the application wrote it. Never raises."""
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


def routed_to(page: object) -> None:
    """
    Name the running request by what a route for every path led to: `GET /{path}` becomes `GET /{HomePage}`.

    For content management systems and the like, where the route says nothing: call it in the view, or in a middleware
    behind it. Wagtail's pages are named without it.

    Args:
        page: the object, whose class is the name, or the name itself: few distinct ones.
    """
    try:
        execution = current()
        if execution is None or execution.transaction.duration_ns:
            return
        word = page if type(page) is str else (page if isinstance(page, type) else type(page)).__name__
        method, _, route = execution.transaction.name.partition(" ")
        if route:
            execution.transaction.set_name(f"{method} {_leading_to(route, text(word))}")
    except Exception as ours:
        contain("route", ours)


def _leading_to(route: str, word: str) -> str:
    """The route with the word for its last parameter; behind it where it has none."""
    before, brace, behind = route.rpartition("{")
    if not brace or behind.startswith("language}"):
        return f"{route.rstrip('/')}/{{{word}}}"
    return f"{before}{{{word}}}{behind.partition('}')[2]}"


def answered(transaction: Transaction, status: int) -> None:
    """
    Note the response's status; 5xx is the application's failure, 4xx the client's.

    The failure is called after the exception that is being handled (Starlette answers within its `except`), if any.
    """
    transaction.http_status = status
    if status >= 500:
        handled = sys.exc_info()[0]
        transaction.is_error = True
        transaction.error_type = transaction.error_type or (str(status) if handled is None else handled.__name__)


def failed(transaction: Transaction, error: BaseException) -> None:
    """
    Note an exception of the application.

    One that ends a task or a generator from outside (a client that left, a server that stops) is no failure of it:
    the response is `incomplete` then. After the response it is noted apart; after the end nothing is.
    """
    name = type(error).__name__
    if transaction.duration_ns:
        if not transaction.is_over and name not in _LEAVING:
            transaction.after_error_type = name
        return
    if name in _LEAVING and not isinstance(error, Exception):
        incomplete(transaction)
    else:
        transaction.fail(name)


def failed_now(error: BaseException) -> None:
    """`failed` for the running transaction, if there is one. Never raises."""
    try:
        execution = current()
        if execution is not None:
            failed(execution.transaction, error)
    except Exception as ours:
        contain("failed", ours)


def incomplete(transaction: Transaction) -> None:
    """Note that the response was not sent to its end: the client left, or the application stopped."""
    transaction.annotate("walltime.incomplete", True)
