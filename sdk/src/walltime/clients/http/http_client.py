"""
http.client, where it is used by itself: urllib.request, xmlrpc.client, boto 2, httplib2 and what else knows no urllib3.

A request and its answer are two calls here: sending is time of the call that waiting for the answer is. What is sent by
`send` after the headers, chunk by chunk, is not seen; a redirect that urllib.request follows is a further call.
"""

from __future__ import annotations

from functools import lru_cache
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from walltime.clients.http.requests import REQUEST, add_headers, proxied, read_on, record_piece
from walltime.core.execution import current, inside
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.patching import Patch
from walltime.instrumentation.timed import timed

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.call import Line

REQUIRES: Final = "Python 3.10–3.14"

_ELSEWHERE: Final = frozenset({"urllib3.connection", "walltime.export.sender"})
"""Modules with subclasses of HTTPConnection that are measured where they are used, and our own, which is not."""


def patches() -> list[Patch]:
    return [
        Patch(HTTPConnection, "connect", _connect),
        Patch(HTTPSConnection, "connect", _connect_tls),
        Patch(HTTPConnection, "endheaders", _endheaders),
        Patch(HTTPConnection, "getresponse", _getresponse),
        Patch(HTTPResponse, "read", _read),
        Patch(HTTPResponse, "read1", _read1),
        Patch(HTTPResponse, "readinto", _readinto),
        Patch(HTTPResponse, "readline", _readline),
    ]


@lru_cache(maxsize=256)
def _is_direct(kind: type) -> bool:
    """Say of a class of connections whether it is measured here."""
    try:
        return not any(parent.__module__ in _ELSEWHERE for parent in kind.__mro__)
    except Exception as ours:
        contain("http_client", ours)
        return False


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    connected = timed("http_client", "http.connect", attrgetter("host", "port"))(original)

    def connect(self: Any) -> Any:
        return connected(self) if _is_direct(self.__class__) else original(self)

    return connect


def _connect_tls(original: Callable[..., Any]) -> Callable[..., Any]:
    """Its TCP connection is made by HTTPConnection's `connect`, and is part of it."""

    def whole(self: Any) -> Any:
        execution = current()
        if execution is None:
            return original(self)
        with inside(execution):
            return original(self)

    return _connect(whole)


def _asked(connection: HTTPConnection) -> tuple[Line, tuple[str, str, str]]:
    """The line and the subject of the request that is about to be sent."""
    host, port = connection.host, connection.port
    tunnel: str | None = getattr(connection, "_tunnel_host", None)
    if tunnel:
        host, port = tunnel, getattr(connection, "_tunnel_port", None) or port
    method, _, rest = connection._buffer[0].decode("latin-1").partition(" ")  # type: ignore[attr-defined]
    url = rest.rpartition(" ")[0]
    scheme = "https" if isinstance(connection, HTTPSConnection) else "http"
    target = proxied(url) if "://" in url and not url.startswith("/") else (host, port)
    return REQUEST[target], (method, scheme, url)


def _endheaders(original: Callable[..., Any]) -> Callable[..., Any]:
    def endheaders(self: Any, message_body: Any = None, *, encode_chunked: bool = False) -> Any:
        asked = None
        execution = current()
        try:
            if not _is_direct(self.__class__):
                execution = None
            elif execution is None:
                outside("http_client")
                if getattr(self, "_walltime", None) is not None:  # of a request whose answer nobody read
                    self._walltime = None
            else:
                add_headers(self, execution)
                asked = _asked(self)
        except Exception as ours:
            contain("http_client", ours)
        if execution is None or asked is None:
            if encode_chunked:
                return original(self, message_body, encode_chunked=True)
            return original(self, message_body)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            sent = original(self, message_body, encode_chunked=encode_chunked)
        except BaseException as error:
            ended_ns = clock()
            try:
                line, subject = asked
                execution.record(line, subject, started_ns, ended_ns, outer_ns, type(error).__name__)
            except Exception as ours:
                contain("http_client", ours)
            raise
        ended_ns = clock()
        try:
            record_piece(execution, *asked, started_ns, ended_ns, outer_ns)
            self._walltime = asked
        except Exception as ours:
            contain("http_client", ours)
        return sent

    return endheaders


def _getresponse(original: Callable[..., Any]) -> Callable[..., Any]:
    def getresponse(self: Any) -> Any:
        execution = current()
        asked = None if execution is None else getattr(self, "_walltime", None)
        if execution is None or asked is None:
            return original(self)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            response = original(self)
        except BaseException as error:
            ended_ns = clock()
            try:
                line, subject = asked
                execution.record(line, subject, started_ns, ended_ns, outer_ns, type(error).__name__)
                self._walltime = None
            except Exception as ours:
                contain("http_client", ours)
            raise
        ended_ns = clock()
        try:
            (line, subject), status = asked, response.status
            failure = None if status < 400 else str(status)
            execution.record(line, subject, started_ns, ended_ns, outer_ns, failure, 0, status)
            response._walltime = asked  # its body is read later
            self._walltime = None
        except Exception as ours:
            contain("http_client", ours)
        return response

    return getresponse


# ---- the body: four ways to read it, each by its own name for how much, so that urllib3's reads pass fast ----


def _read(original: Callable[..., Any]) -> Callable[..., Any]:
    def read(self: Any, amt: int | None = None) -> Any:
        if current() is None or getattr(self, "_walltime", None) is None:
            return original(self, amt)
        return _timed(original, self, amt)

    return read


def _read1(original: Callable[..., Any]) -> Callable[..., Any]:
    def read1(self: Any, n: int = -1) -> Any:
        if current() is None or getattr(self, "_walltime", None) is None:
            return original(self, n)
        return _timed(original, self, n)

    return read1


def _readinto(original: Callable[..., Any]) -> Callable[..., Any]:
    def readinto(self: Any, b: Any) -> Any:
        if current() is None or getattr(self, "_walltime", None) is None:
            return original(self, b)
        return _timed(original, self, b)

    return readinto


def _readline(original: Callable[..., Any]) -> Callable[..., Any]:
    def readline(self: Any, limit: int = -1) -> Any:
        if current() is None or getattr(self, "_walltime", None) is None:
            return original(self, limit)
        return _timed(original, self, limit)

    return readline


def _timed(original: Callable[..., Any], response: Any, how_much: Any) -> Any:
    """Read on in a body that is measured; in a transaction."""
    execution, (line, subject) = current(), response._walltime
    if execution is None:
        return original(response, how_much)
    outer_ns = execution.nested_ns
    started_ns = clock()
    try:
        data = original(response, how_much)
    except BaseException as error:
        ended_ns = clock()
        try:
            read_on(execution, line, subject, started_ns, ended_ns, outer_ns, type(error).__name__)
        except Exception as ours:
            contain("http_client", ours)
        raise
    ended_ns = clock()
    try:
        read_on(execution, line, subject, started_ns, ended_ns, outer_ns)
    except Exception as ours:
        contain("http_client", ours)
    return data
