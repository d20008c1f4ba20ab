"""
http.client, where it is used by itself: urllib.request, xmlrpc.client, boto 2, httplib2 and other users of it.

A request and its response are two calls here: sending is time of the call that waiting for the response is. What is
sent by `send` after the headers, chunk by chunk, is not seen; a redirect that urllib.request follows is a further call.
"""

from __future__ import annotations

from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from walltime.clients.http.requests import REQUEST, add_headers, body, failed, proxied, record_sent
from walltime.core.execution import current
from walltime.instrumentation.measure import Measure
from walltime.instrumentation.patching import MEASURED_ELSEWHERE, Patch
from walltime.instrumentation.timed import timed, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.clients.http.requests import Step
    from walltime.core.call import Line
    from walltime.instrumentation.measure import Described

REQUIRES: Final = "Python 3.10–3.14"


def patches() -> list[Patch]:
    return [
        Patch(HTTPConnection, "connect", _connect),
        # Its TCP connection is made by HTTPConnection's `connect`, and is part of it.
        Patch(HTTPSConnection, "connect", lambda original: _connect(whole(original))),
        Patch(HTTPConnection, "endheaders", _endheaders),
        Patch(HTTPConnection, "getresponse", _getresponse),
        *[Patch(HTTPResponse, name, _read) for name in ("read", "read1", "readinto", "readline")],
    ]


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    measured = timed("http_client", "http.connect", attrgetter("host", "port")).call(original)

    def connect(self: Any) -> Any:
        return original(self) if hasattr(self, MEASURED_ELSEWHERE) else measured(self)

    return connect


# ---- the request ----


def _endheaders(plain: Callable[..., Any]) -> Callable[..., Any]:
    measured = Measure("http_client", _describe_sent, _begin_sent, record_sent).call(plain)

    def endheaders(self: Any, message_body: Any = None, *, encode_chunked: bool = False) -> Any:
        if hasattr(self, MEASURED_ELSEWHERE):
            original = plain
        else:
            original = measured
            if getattr(self, "_walltime", None) is not None:  # of a request whose response nobody read
                self._walltime = None
        if encode_chunked:
            return original(self, message_body, encode_chunked=True)
        return original(self, message_body)  # the same, without what a keyword costs

    return endheaders


def _begin_sent(connection: Any, _args: Any) -> tuple[Any, Line, tuple[str, str, str]]:
    execution = current()
    if execution is not None:
        add_headers(connection, execution)
    return connection, *_about(connection)


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


def _describe_sent(about: Any, _args: Any, _result: Any, error: BaseException | None) -> Step:
    connection, line, subject = about
    if error is None:
        connection._walltime = line, subject
    return line, subject


def _getresponse(original: Callable[..., Any]) -> Callable[..., Any]:
    measured = Measure("http_client", _describe_response, counts_outside=False).call(original)

    def getresponse(self: Any) -> Any:
        return original(self) if getattr(self, "_walltime", None) is None else measured(self)

    return getresponse


def _describe_response(connection: Any, _args: Any, response: Any, error: BaseException | None) -> Described:
    (line, subject), connection._walltime = connection._walltime, None
    if error is not None:
        return line, subject, None, 0, 0
    response._walltime = line, subject  # its body is read later
    return line, subject, failed(response.status), 0, response.status


# ---- the body ----


def _read(original: Callable[..., Any]) -> Callable[..., Any]:
    measured = body("http_client", lambda response, _args: response._walltime).call(original)

    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        if current() is None or getattr(self, "_walltime", None) is None:
            return original(self, *args, **kwargs)
        return measured(self, *args, **kwargs)

    return read
