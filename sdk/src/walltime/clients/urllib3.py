"""
urllib3 (and so requests and botocore): each attempt of a request, connecting, reading the body; tells the next service
where it is in the trace.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.response import HTTPResponse

from walltime.call import CONTINUED, lines
from walltime.clients.timed import timed
from walltime.hotpath import clock, current, outside
from walltime.patching import Patch
from walltime.propagation import outgoing_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from walltime.call import Target
    from walltime.hotpath import Strand

REQUIRES: Final = "urllib3 >= 2.0, < 3"

_REQUEST: Final = lines("http.request")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_OURS: Final = "_walltime_target"


def patches() -> list[Patch]:
    return [
        Patch(HTTPConnectionPool, "urlopen", _urlopen),
        Patch(HTTPConnection, "connect", timed("urllib3", "http.connect", attrgetter("host", "port"))),
        Patch(HTTPSConnection, "connect", timed("urllib3", "http.connect", attrgetter("host", "port"))),
        Patch(HTTPConnection, "request", _request),
        Patch(HTTPResponse, "read", _read),
        Patch(HTTPResponse, "stream", _stream),
    ]


def _urlopen(original: Callable[..., Any]) -> Callable[..., Any]:
    def urlopen(self: HTTPConnectionPool, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        strand = current()
        if strand is None:
            outside("urllib3")
            return original(self, method, url, *args, **kwargs)
        target = (self.host, self.port or _DEFAULT_PORTS.get(self.scheme or "", 0))
        subject = (method, self.scheme, url)
        outer_ns, strand.nested_ns = strand.nested_ns, 0
        started_ns = clock()
        try:
            response = original(self, method, url, *args, **kwargs)
        except BaseException as error:
            strand.record(_REQUEST[target], subject, started_ns, clock(), outer_ns, type(error).__name__)
            raise
        ended_ns = clock()
        status = response.status
        failure = str(status) if status >= 400 else None
        strand.record(_REQUEST[target], subject, started_ns, ended_ns, outer_ns, failure, 0, status)
        if not response.isclosed():
            setattr(response, _OURS, target)  # its body is read later, on the same line of the bill
        return response

    return urlopen


def _request(original: Callable[..., Any]) -> Callable[..., Any]:
    def request(
        self: HTTPConnection, method: str, url: str, body: Any = None, headers: Any = None, **kwargs: Any
    ) -> Any:
        strand = current()
        if strand is not None:
            headers = _with_ours(headers, outgoing_headers(strand.transaction))
        return original(self, method, url, body, headers, **kwargs)

    return request


def _with_ours(headers: Any, ours: list[tuple[str, str]]) -> Any:
    """A copy with our headers; what the application set itself stays as it is."""
    copy = {} if headers is None else dict(headers.items())
    names = {name.lower() for name in copy if isinstance(name, str)}
    for name, value in ours:
        if name not in names:
            copy[name] = value
    return copy


def _read(original: Callable[..., Any]) -> Callable[..., Any]:
    def read(self: HTTPResponse, *args: Any, **kwargs: Any) -> Any:
        strand = current()
        target = getattr(self, _OURS, None)
        if strand is None or target is None:
            return original(self, *args, **kwargs)
        outer_ns, strand.nested_ns = strand.nested_ns, 0
        started_ns = clock()
        try:
            return original(self, *args, **kwargs)
        finally:
            _continue(strand, target, started_ns, outer_ns)

    return read


def _stream(original: Callable[..., Any]) -> Callable[..., Any]:
    def stream(self: HTTPResponse, *args: Any, **kwargs: Any) -> Iterator[bytes]:
        blocks = original(self, *args, **kwargs)
        strand = current()
        target = getattr(self, _OURS, None)
        return blocks if strand is None or target is None else _timed(self, blocks, strand, target)

    return stream


def _timed(response: HTTPResponse, blocks: Iterator[bytes], strand: Strand, target: Target) -> Iterator[bytes]:
    while True:
        outer_ns, strand.nested_ns = strand.nested_ns, 0
        setattr(response, _OURS, None)  # its `read` is inside this and need not be timed again
        started_ns = clock()
        try:
            block = next(blocks)
        except StopIteration:
            return
        finally:
            setattr(response, _OURS, target)
            _continue(strand, target, started_ns, outer_ns)
        yield block


def _continue(strand: Strand, target: Target, started_ns: int, outer_ns: int) -> None:
    strand.record(_REQUEST[target], CONTINUED, started_ns, clock(), outer_ns)
