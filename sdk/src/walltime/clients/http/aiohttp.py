"""
aiohttp.ClientSession: each request that is sent, redirects included, connecting, and waiting for the body.

Timed where one request is made, so each hop of a redirect is a call with its own server and status. aiohttp sends an
idempotent request once more when a kept connection turns out to be dead: that is a failed call and another one. What
`ClientSession` does between them, such as cookies, is not timed; nor is what comes over a WebSocket once it is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aiohttp.client_reqrep import ClientRequest, ClientResponse
from aiohttp.connector import BaseConnector, NamedPipeConnector, TCPConnector, UnixConnector
from aiohttp.streams import StreamReader

from walltime.clients.http.requests import CONNECT, REQUEST, body, failed, record_sent, server_of
from walltime.core.execution import task_execution
from walltime.errors import contain
from walltime.instrumentation.measure import Measure, first
from walltime.instrumentation.patching import Patch
from walltime.instrumentation.timed import whole_async
from walltime.propagation.propagation import outgoing_headers
from walltime.propagation.recipients import is_limited, is_recipient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from walltime.clients.http.requests import Step
    from walltime.instrumentation.measure import Described

REQUIRES: Final = "aiohttp >= 3.9, < 4"


def patches() -> list[Patch]:
    start = Measure("aiohttp", _describe_response, counts_outside=False)
    # A reader waits only when nothing has arrived: the rest of a body costs nothing to read, and is not timed. The
    # protocol of a server, which reads requests, has no `_walltime`.
    wait = body("aiohttp", lambda reader, _args: getattr(reader._protocol, "_walltime", None))
    return [
        # Waiting for a connection of the pool is part of the request; the request without one is a failed one.
        Patch(BaseConnector, "connect", Measure("aiohttp", _step, record=record_sent).awaited),
        *[Patch(kind, "_create_connection", _create) for kind in (TCPConnector, UnixConnector, NamedPipeConnector)],
        Patch(ClientRequest, "send", _send),
        Patch(ClientResponse, "start", start.awaited),
        Patch(StreamReader, "_wait", wait.awaited),
    ]


def _about(of: Any) -> Step:
    """Return the line and the subject of a request in all its pieces; of the request, or of its response."""
    subject: tuple[str, str, str] | None = getattr(of, "_walltime", None)
    if subject is None:
        subject = of._walltime = (of.method, "", str(of.url))
    return REQUEST[server_of(of.url)], subject


def _step(_connector: Any, args: Any, _result: Any, _error: BaseException | None) -> Step:
    return _about(first(args))


def _create(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    measure = Measure("aiohttp", _describe_connect, counts_outside=False)
    # The request for a tunnel through a proxy is part of connecting.
    direct, by_proxy = measure.awaited(original), measure.awaited(whole_async(original))

    async def _create_connection(self: Any, req: Any, *args: Any, **kwargs: Any) -> Any:
        original = by_proxy if req.proxy else direct
        return await original(self, req, *args, **kwargs)

    return _create_connection


def _describe_connect(connector: Any, args: Any, _result: Any, _error: BaseException | None) -> Described:
    request = first(args)
    if isinstance(connector, TCPConnector):
        return CONNECT[server_of(request.proxy or request.url)], None, None, 0, 0
    return CONNECT[str(connector.path)], None, None, 0, 0


def _send(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    original = Measure("aiohttp", _describe_sent, record=record_sent, counts_outside=False).awaited(original)

    async def send(self: Any, conn: Any) -> Any:
        try:
            execution = task_execution()
            transaction = None if execution is None else execution.transaction
            if transaction is not None and (not is_limited(transaction) or is_recipient(transaction, self.url.host)):
                for name, value in outgoing_headers(transaction):
                    self.headers.setdefault(name, value)  # its own copy, made for this request; case does not matter
        except Exception as ours:
            contain("aiohttp", ours)
        return await original(self, conn)

    return send


def _describe_sent(request: Any, _args: Any, response: Any, error: BaseException | None) -> Step:
    step = _about(request)
    if error is None:
        response._walltime = step[1]
    return step


def _describe_response(response: Any, args: Any, _result: Any, error: BaseException | None) -> Described:
    line, subject = _about(response)
    if error is not None:
        return line, subject, None, 0, 0
    connection = first(args)
    if connection.protocol is not None:  # what it receives now is the body; without a protocol, the body is here
        connection.protocol._walltime = (line, subject)
    return line, subject, failed(response.status), 0, response.status
