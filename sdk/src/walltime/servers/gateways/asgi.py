"""
ASGI: a transaction from the call of the application until the response body is sent or the websocket is closed.

| scope | its transaction |
|---|---|
| `http` | ends when the last part of the body has been sent; what the application does after that in the same call (Starlette's background tasks) is no longer part of the request |
| `websocket` | the whole connection, `WEBSOCKET /route`; waiting for the client's messages is its component `websocket.receive` |
| `lifespan`, any other | none, passed through |

Tasks share asyncio's thread: CPU time is that of the steps of the transaction's own task (core/event_loop.py).
"""  # noqa: E501

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from walltime import runtime
from walltime.core.call import lines
from walltime.core.execution import running_task, task_execution
from walltime.core.steps import timed
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.servers.gateways.transparent import SERVES, Transparent
from walltime.servers.request.headers import from_asgi
from walltime.servers.request.request import MARK, WEBSOCKET, answered, failed, incomplete, open_request
from walltime.servers.request.server_timing import server_timing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_RECEIVE = lines("websocket.receive")
_UNKNOWN_LOOP = 1
"""Owner under an event loop other than asyncio's and Trio's."""


class ASGIMiddleware(Transparent):
    """
    Wraps an ASGI application; every request and every websocket becomes a transaction.

        app = walltime.ASGIMiddleware(app)

    The transaction is named by its method until an instrumented framework finds the route, or until
    `walltime.current().set_name("GET /product/{id}")` is called.
    """

    def __init__(self, app: Application) -> None:
        super().__init__(app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await serve(self.app, scope, receive, send)


async def serve(app: Application, scope: Scope, receive: Receive, send: Send) -> None:
    """Call the application in a new transaction, unless the request already has one."""
    started_ns = clock()
    is_http = scope.get("type") == "http"
    opened = None
    try:
        opened = _open(scope, started_ns)
        if opened is not None:
            if is_http:
                send = _sending(opened, send)
            else:
                receive = _receiving(receive)
    except Exception as ours:
        contain("asgi", ours)
    if opened is None:
        await app(scope, receive, send)
        return
    try:
        await timed(opened.transaction, app(scope, receive, send), has_beat=is_http)
    except BaseException as error:
        failed(opened.transaction, error)
        opened.finish()
        raise
    if is_http and not opened.transaction.duration_ns:  # the application returned before its response was complete
        incomplete(opened.transaction)
    opened.finish()


def served(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a framework's method that is an ASGI application."""

    async def __call__(self: Any, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: N807  # it replaces one
        if MARK in scope or scope["type"] == "lifespan":
            await original(self, scope, receive, send)
        else:
            await serve(partial(original, self), scope, receive, send)

    __call__.__dict__[SERVES] = True
    return __call__


def _open(scope: Scope, started_ns: int) -> runtime.Open | None:
    kind = scope["type"]
    if (kind != "http" and kind != "websocket") or MARK in scope or not runtime.is_enabled():  # noqa: PLR1714  # faster
        return None
    opened = open_request(
        scope.get("method", ""), scope.get("scheme", ""), scope.get("path", ""), from_asgi(scope["headers"]),
        started_ns, running_task() or _UNKNOWN_LOOP,
    )  # fmt: skip
    transaction = opened.transaction
    if kind == "websocket":
        transaction.method = ""
        transaction.name = WEBSOCKET
    scope[MARK] = transaction
    return opened


def _sending(opened: runtime.Open, send: Send) -> Send:
    transaction = opened.transaction

    async def sending(message: Message) -> None:
        is_last = False
        try:
            kind = message["type"]
            if kind == "http.response.body":
                is_last = not message.get("more_body", False)
            elif kind == "http.response.start":
                answered(transaction, message["status"])
                if opened.shows_bill:
                    value = server_timing(transaction).encode()
                    message = {**message, "headers": [*message.get("headers", ()), (b"server-timing", value)]}
            elif kind == "http.response.pathsend":  # the server sends the whole body
                is_last = True
        except Exception as ours:
            contain("asgi", ours)
        await send(message)
        if is_last:
            opened.end_response()

    return sending


def _receiving(receive: Receive) -> Receive:
    async def receiving() -> Message:
        execution = task_execution()
        if execution is None:
            return await receive()
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            return await receive()
        finally:
            try:
                execution.record(_RECEIVE[None], None, started_ns, clock(), outer_ns)
            except Exception as ours:
                contain("asgi", ours)

    return receiving
