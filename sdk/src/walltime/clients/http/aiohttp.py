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

from walltime.clients.http.requests import CONNECT, DEFAULT_PORTS, REQUEST, read_on, record_piece
from walltime.core.execution import inside, task_execution
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.patching import Patch
from walltime.propagation.propagation import outgoing_headers
from walltime.propagation.recipients import is_limited, is_recipient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from walltime.core.call import Line
    from walltime.core.execution import ExecutionContext

REQUIRES: Final = "aiohttp >= 3.9, < 4"


def patches() -> list[Patch]:
    return [
        Patch(BaseConnector, "connect", _connect),
        *[Patch(kind, "_create_connection", _create) for kind in (TCPConnector, UnixConnector, NamedPipeConnector)],
        Patch(ClientRequest, "send", _send),
        Patch(ClientResponse, "start", _start),
        Patch(StreamReader, "_wait", _wait),
    ]


def _line(url: Any) -> Line:
    return REQUEST[url.host or "", url.port or DEFAULT_PORTS.get(url.scheme, 0)]


def _subject(of: Any) -> tuple[str, str, str]:
    """Return what stands for one request in all its pieces; of the request, or of its response, which is given it."""
    subject: tuple[str, str, str] | None = getattr(of, "_walltime", None)
    if subject is None:
        subject = of._walltime = (of.method, "", str(of.url))
    return subject


def _step(
    execution: ExecutionContext,
    request: Any,
    started_ns: int,
    ended_ns: int,
    outer_ns: int,
    error: BaseException | None = None,
) -> None:
    """Put a step before the answer on the line of its request; when it fails, that was the request. Never raises."""
    try:
        subject = _subject(request)
        if error is None:
            record_piece(execution, _line(request.url), subject, started_ns, ended_ns, outer_ns)
        else:
            execution.record(_line(request.url), subject, started_ns, ended_ns, outer_ns, type(error).__name__)
    except Exception as ours:
        contain("aiohttp", ours)


# ---- before there is a connection ----


def _connect(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Waiting for a connection of the pool is part of the request; the request without one is a failed one."""

    async def connect(self: BaseConnector, req: Any, *args: Any, **kwargs: Any) -> Any:
        execution = task_execution()
        if execution is None:
            outside("aiohttp")
            return await original(self, req, *args, **kwargs)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            connection = await original(self, req, *args, **kwargs)
        except BaseException as error:
            _step(execution, req, started_ns, clock(), outer_ns, error)
            raise
        _step(execution, req, started_ns, clock(), outer_ns)
        return connection

    return connect


def _create(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def _create_connection(self: Any, req: Any, *args: Any, **kwargs: Any) -> Any:
        execution = task_execution()
        if execution is None:
            return await original(self, req, *args, **kwargs)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            if req.proxy:
                with inside(execution):  # a proxy is asked for a tunnel by a request, which is part of connecting
                    protocol = await original(self, req, *args, **kwargs)
            else:
                protocol = await original(self, req, *args, **kwargs)
        except BaseException as error:
            ended_ns = clock()
            try:
                execution.record(
                    CONNECT[_server(self, req)], None, started_ns, ended_ns, outer_ns, type(error).__name__
                )
            except Exception as ours:
                contain("aiohttp", ours)
            raise
        ended_ns = clock()
        try:
            execution.record(CONNECT[_server(self, req)], None, started_ns, ended_ns, outer_ns)
        except Exception as ours:
            contain("aiohttp", ours)
        return protocol

    return _create_connection


def _server(connector: Any, req: Any) -> tuple[str, int] | str:
    if not isinstance(connector, TCPConnector):
        return str(connector.path)
    url = req.proxy or req.url
    return (url.host or "", url.port or DEFAULT_PORTS.get(url.scheme, 0))


# ---- the request ----


def _send(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def send(self: Any, conn: Any) -> Any:
        execution = task_execution()
        if execution is None:
            return await original(self, conn)
        try:
            transaction = execution.transaction
            is_ours = not is_limited(transaction) or is_recipient(transaction, self.url.host)
            for name, value in outgoing_headers(transaction) if is_ours else ():
                self.headers.setdefault(name, value)  # its own copy, made for this request; case does not matter
        except Exception as ours:
            contain("aiohttp", ours)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            response = await original(self, conn)
        except BaseException as error:
            _step(execution, self, started_ns, clock(), outer_ns, error)
            raise
        _step(execution, self, started_ns, clock(), outer_ns)
        try:
            response._walltime = _subject(self)
        except Exception as ours:
            contain("aiohttp", ours)
        return response

    return send


def _start(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def start(self: Any, connection: Any) -> Any:
        execution = task_execution()
        if execution is None:
            return await original(self, connection)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            response = await original(self, connection)
        except BaseException as error:
            ended_ns = clock()
            try:
                line, subject = _line(self.url), _subject(self)
                execution.record(line, subject, started_ns, ended_ns, outer_ns, type(error).__name__)
            except Exception as ours:
                contain("aiohttp", ours)
            raise
        ended_ns = clock()
        try:
            line, subject, status = _line(self.url), _subject(self), self.status
            failure = None if status < 400 else str(status)
            execution.record(line, subject, started_ns, ended_ns, outer_ns, failure, 0, status)
            if connection.protocol is not None:  # what the connection brings now is the body; without, it is here
                connection.protocol._walltime = (line, subject)
        except Exception as ours:
            contain("aiohttp", ours)
        return response

    return start


def _wait(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A reader waits only when nothing has arrived: the rest of a body costs nothing to read, and is not timed."""

    async def _wait(self: Any, *args: Any, **kwargs: Any) -> Any:
        of = getattr(self._protocol, "_walltime", None)  # a server's protocol, which reads requests, has none
        execution = None if of is None else task_execution()
        if execution is None or of is None:
            return await original(self, *args, **kwargs)
        outer_ns = execution.nested_ns
        started_ns = clock()
        failure = None
        try:
            return await original(self, *args, **kwargs)
        except BaseException as error:
            failure = type(error).__name__
            raise
        finally:
            ended_ns = clock()
            try:
                line, subject = of
                read_on(execution, line, subject, started_ns, ended_ns, outer_ns, failure)
            except Exception as ours:
                contain("aiohttp", ours)

    return _wait
