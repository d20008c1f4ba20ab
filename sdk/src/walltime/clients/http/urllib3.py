"""
urllib3 (and so requests and botocore): each attempt of a request, connecting, reading the body, waiting before the next
attempt; passes the trace to the next service.

Timed where one attempt is made: around `urlopen` the first attempt would contain those after it and end with their
status. A redirect is a further call. Not seen: waiting for a connection of a pool that blocks (`block=True`).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.response import HTTPResponse
from urllib3.util.retry import Retry
from urllib3.util.timeout import _DEFAULT_TIMEOUT

from walltime.clients.http.http_client import without_ours
from walltime.clients.http.requests import DEFAULT_PORTS, REQUEST, add_headers, body, proxied
from walltime.core.execution import elsewhere, get_ident, inherited
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.measure import Measure
from walltime.instrumentation.patching import MEASURED_ELSEWHERE, Hook, Patch, takes_no_more
from walltime.instrumentation.timed import computing, timed

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.clients.http.requests import Step
    from walltime.core.call import Line
    from walltime.instrumentation.measure import Described

REQUIRES: Final = "urllib3 >= 2.0, < 3"


def patches() -> list[Patch | Hook]:
    takes_no_more(
        HTTPConnectionPool, "_make_request", "self", "conn", "method", "url", "body", "headers", "retries",
        "timeout", "chunked", "response_conn", "preload_content", "decode_content", "enforce_content_length",
    )  # fmt: skip
    connect = computing(timed("urllib3", "http.connect", attrgetter("host", "port")))
    return [
        Hook(
            lambda: setattr(HTTPConnection, MEASURED_ELSEWHERE, True),
            lambda: delattr(HTTPConnection, MEASURED_ELSEWHERE),
        ),
        Patch(HTTPConnectionPool, "_make_request", _make_request),
        Patch(HTTPConnection, "connect", connect.call),
        Patch(HTTPSConnection, "connect", connect.call),
        Patch(HTTPConnection, "endheaders", _endheaders),
        # Chunks are read from the socket; all else by `read` of http.client, which http_client_body.py measures.
        Patch(HTTPResponse, "read_chunked", body("urllib3", _about_chunks).iterated),
        Patch(Retry, "sleep", timed("urllib3", "http.retry", lambda _retry: None).call),
    ]


def _make_request(original: Callable[..., Any]) -> Callable[..., Any]:
    failed = Measure("urllib3", _describe_failure).end

    def _make_request(  # by their names: packing and unpacking them would cost a fifth of all that is measured here
        self: HTTPConnectionPool, conn: Any, method: str, url: str, body: Any = None, headers: Any = None,
        retries: Any = None, timeout: Any = _DEFAULT_TIMEOUT, chunked: bool = False, response_conn: Any = None,
        preload_content: bool = True, decode_content: bool = True, enforce_content_length: bool = True,
    ) -> Any:  # fmt: skip
        execution = inherited()
        if execution is not None and execution.thread != get_ident():
            execution = elsewhere(execution)
        if execution is None:
            outside("urllib3")
            return original(
                self, conn, method, url, body, headers, retries, timeout, chunked, response_conn, preload_content,
                decode_content, enforce_content_length,
            )  # fmt: skip
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            response = original(
                self, conn, method, url, body, headers, retries, timeout, chunked, response_conn, preload_content,
                decode_content, enforce_content_length,
            )  # fmt: skip
        except BaseException as error:
            failed(execution, started_ns, clock(), outer_ns, self, (method, url, retries), None, error)
            raise
        ended_ns = clock()
        try:
            line = REQUEST[self.host, self.port] if self.port and self.proxy is None else _line(self, url)
            subject, status = (method, self.scheme, url), response.status
            failure = None if status < 400 else str(status)
            resends = _resends(retries) if retries and retries.history else 0  # the check here saves a call
            execution.record(line, subject, started_ns, ended_ns, outer_ns, failure, resends, status)
            source: Any = getattr(response, "_original_response", None)
            if getattr(source, "fp", None) is not None:  # else its body is here, or it is of another transport
                source._walltime = line, subject
        except Exception as ours:
            contain("urllib3", ours)
        return response

    return _make_request


def _describe_failure(pool: HTTPConnectionPool, args: Any, _result: Any, _error: BaseException | None) -> Described:
    method, url, retries = args
    return _line(pool, url), (method, pool.scheme, url), None, _resends(retries), 0


def _line(pool: HTTPConnectionPool, url: str) -> Line:
    if pool.proxy is not None and not url.startswith("/"):
        return REQUEST[proxied(url)]
    return REQUEST[pool.host, pool.port or DEFAULT_PORTS.get(pool.scheme or "", 0)]


def _about_chunks(response: Any, _args: Any) -> Step | None:
    return getattr(getattr(response, "_original_response", None), "_walltime", None)


def _resends(retries: Any) -> int:
    """How often the request has been sent before."""
    if not retries or not retries.history:
        return 0
    return sum(not attempt.redirect_location for attempt in retries.history)


def _endheaders(original: Callable[..., Any]) -> Callable[..., Any]:
    original = without_ours(original)

    # No `*` before `encode_chunked` here and `read1` below: calls of functions with keyword-only parameters are slow.
    def endheaders(self: HTTPConnection, message_body: Any = None, encode_chunked: bool = False) -> Any:
        execution = inherited()
        if execution is not None:
            add_headers(self, execution)
        if encode_chunked:
            return original(self, message_body, encode_chunked=True)
        return original(self, message_body)  # the same, without what a keyword costs

    return endheaders
