"""What a connection of the gRPC port and the service behind it exchange."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ...errors import RequestRefused
from ...http.body import InFlight

Headers = Sequence[tuple[bytes, bytes]]


class Response(NamedTuple):
    """Ends a call. Without trailers, the headers do."""

    headers: Headers
    data: bytes = b""
    trailers: Headers = ()


SendMessage = Callable[[Headers, bytes], bool]
"""
Sends one message of a streaming response; the headers go before the first message. Without data, it sends nothing.
Returns whether the peer still waits for more.
"""

Handler = Callable[[bytes, SendMessage, str], Coroutine[Any, Any, Response | None]]
"""
Works on a call's body; the last argument is the address of the peer. Returns None when the response was a stream, which
only the peer ends, and when the peer left.
"""


class Service(Protocol):
    """Answers calls."""

    in_flight: InFlight
    max_body_bytes: int

    def open(self, headers: Headers) -> Handler | Response:
        """Check a call by its headers, before its body arrives."""

    def refuse(self, refusal: RequestRefused) -> Response:
        """Count a refusal and make its response."""


@dataclass(eq=False, slots=True)
class Call:
    """A call that is arriving, being worked on, or waiting until its peer takes the response."""

    stream: int
    deadline_s: float
    handler: Handler | None = None
    """None: the call was refused by its headers or while its body arrived; the rest of the body is dropped."""
    chunks: list[bytes] = field(default_factory=list)
    size: int = 0
    """Bytes claimed of the service's in_flight."""
    is_whole: bool = False
    is_streaming: bool = False
    unsent: Response | None = None


class Limits(NamedTuple):
    """
    Seconds a connection may take.

    header_s      from the connection to its first settings, and for the rest of a frame or header block
    request_s     from a request's headers to the end of its body
    first_call_s  without any call
    idle_s        since the last one
    """

    header_s: float
    request_s: float
    first_call_s: float = 30.0
    idle_s: float = 600.0
