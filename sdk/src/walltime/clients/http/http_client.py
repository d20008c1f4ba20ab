"""
http.client, used directly or by urllib.request, xmlrpc.client, boto 2, httplib2 and others.

A request and its response are two calls here: sending is time of the call that waiting for the response is. What is
sent by `send` after the headers, chunk by chunk, is not seen; a redirect that urllib.request follows is a further call.
"""

from __future__ import annotations

from http.client import HTTPConnection, HTTPSConnection
from operator import attrgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from walltime.clients.http.requests import REQUEST, add_headers, proxied, record_sent
from walltime.core.execution import current, elsewhere, get_ident, inherited
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.measure import Measure
from walltime.instrumentation.patching import MEASURED_ELSEWHERE, Patch
from walltime.instrumentation.timed import computing, timed, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.clients.http.requests import Step
    from walltime.core.call import Line
    from walltime.core.execution import ExecutionContext

REQUIRES: Final = "Python 3.10–3.14"


def patches() -> list[Patch]:
    return [
        Patch(HTTPConnection, "connect", _connect),
        # Its TCP connection is made by HTTPConnection's `connect`, and is part of it.
        Patch(HTTPSConnection, "connect", lambda original: _connect(whole(original))),
        Patch(HTTPConnection, "endheaders", _endheaders),
        Patch(HTTPConnection, "getresponse", _getresponse),
    ]


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    measured = computing(timed("http_client", "http.connect", attrgetter("host", "port"))).call(original)

    def connect(self: Any) -> Any:
        return original(self) if hasattr(self, MEASURED_ELSEWHERE) else measured(self)

    return connect


# Inline, both: a request with its body costs 4.1 µs, by the gate 5.3 µs (stub benchmark).
def _endheaders(original: Callable[..., Any]) -> Callable[..., Any]:
    def endheaders(self: Any, message_body: Any = None, *, encode_chunked: bool = False) -> Any:
        execution = inherited()
        if execution is not None and execution.thread != get_ident():
            execution = elsewhere(execution)
        step = None if hasattr(self, MEASURED_ELSEWHERE) else _begin(self, execution)
        if execution is None or step is None:
            return original(self, message_body, encode_chunked=encode_chunked)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            sent = original(self, message_body, encode_chunked=encode_chunked)
        except BaseException as error:
            _failed(execution, started_ns, clock(), outer_ns, self, step, None, error)
            raise
        ended_ns = clock()
        try:
            record_sent(execution, step, None, started_ns, ended_ns, outer_ns)
            self._walltime = step
        except Exception as ours:
            contain("http_client", ours)
        return sent

    return endheaders


def _begin(connection: Any, execution: ExecutionContext | None) -> Step | None:
    try:
        if execution is not None:
            add_headers(connection, execution)
            return _about(connection)
        outside("http_client")
        if getattr(connection, "_walltime", None) is not None:  # of a request whose response nobody read
            connection._walltime = None
    except Exception as ours:
        contain("http_client", ours)
    return None


def _about(connection: HTTPConnection) -> tuple[Line, tuple[str, str, str]]:
    """Return the line and the subject of the request that is about to be sent."""
    host, port = connection.host, connection.port
    tunnel: str | None = getattr(connection, "_tunnel_host", None)
    if tunnel:
        host, port = tunnel, getattr(connection, "_tunnel_port", None) or port
    method, _, rest = connection._buffer[0].decode("latin-1").partition(" ")  # type: ignore[attr-defined]
    url = rest.rpartition(" ")[0]
    scheme = "https" if isinstance(connection, HTTPSConnection) else "http"
    target = proxied(url) if "://" in url and not url.startswith("/") else (host, port)
    return REQUEST[target], (method, scheme, url)


def _describe_failure(connection: Any, step: Step, _result: Any, _error: BaseException | None) -> Step:
    connection._walltime = None
    return step


_failed: Final = Measure("http_client", _describe_failure, record=record_sent).end


def without_ours(method: Any) -> Any:
    """Return a method without the wrapper of this module: for a subclass that is measured elsewhere."""
    while isinstance(method, FunctionType) and method.__globals__ is globals():
        method = method.__wrapped__  # type: ignore[attr-defined]
    return method


# The responses of urllib3 come here too: their way through is short, and without arguments to pack.
def _getresponse(original: Callable[..., Any]) -> Callable[..., Any]:
    def getresponse(self: Any) -> Any:
        step = getattr(self, "_walltime", None)
        if step is None or (execution := current()) is None:
            return original(self)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            response = original(self)
        except BaseException as error:
            _failed(execution, started_ns, clock(), outer_ns, self, step, None, error)
            raise
        ended_ns = clock()
        try:
            (line, subject), status = step, response.status
            failure = None if status < 400 else str(status)
            execution.record(line, subject, started_ns, ended_ns, outer_ns, failure, 0, status)
            response._walltime = step  # its body is read later: http_client_body.py
            self._walltime = None
        except Exception as ours:
            contain("http_client", ours)
        return response

    return getresponse
