"""
httpcore, the transport of httpx: connecting, TLS included, is measured apart from the request.

The connection attempts that a transport with `retries` makes are one call here, with the waits between them. Not seen
apart from the request: TLS to the server behind a proxy, and connecting to a SOCKS proxy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from httpcore import AsyncHTTPConnection, HTTPConnection

from walltime.instrumentation.patching import Patch
from walltime.instrumentation.timed import computing, timed

if TYPE_CHECKING:
    from walltime.core.call import Target

REQUIRES: Final = "httpcore >= 1.0, < 2"


def patches() -> list[Patch]:
    connect = timed("httpcore", "http.connect", _server)
    return [
        Patch(HTTPConnection, "_connect", computing(connect).call),
        Patch(AsyncHTTPConnection, "_connect", connect.awaited),
    ]


def _server(connection: Any) -> Target:
    if connection._uds is not None:
        return str(connection._uds)
    origin = connection._origin
    return (origin.host.decode("ascii"), origin.port)
