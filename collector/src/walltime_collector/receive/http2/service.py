"""What a connection and the service behind it say to each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from ...errors import RequestRefused
from ...http.in_flight import InFlight

Headers = Sequence[tuple[bytes, bytes]]


class Response(NamedTuple):
    """
    Header blocks and data that answer a request; without trailers the head ends it.

    One that is not the last is a part of a stream: data, after a head if it is the first.
    """

    head: bytes
    data: bytes = b""
    trailers: bytes = b""
    is_last: bool = True


Respond = Callable[[Response | None], bool]
"""
Sends a response. Returns whether the peer still waits for more of a stream; None only asks that.
"""


Call = TypeVar("Call")
"""What a service made of a request's headers; it gets it back with the body."""


class Service(Protocol[Call]):
    """Answers requests, each when its body is whole."""

    in_flight: InFlight
    max_body_bytes: int

    def open(self, headers: Headers) -> Call | Response:
        """Judge a request by its headers alone; the answer holds for all requests with the same headers."""

    def run(self, call: Call, body: bytes, respond: Respond) -> None:
        """Work on a whole request, and call `respond` once, soon or later; or, for a stream, again and again."""

    def refuse(self, refusal: RequestRefused) -> Response:
        """The response to a body that is too large, too late, or too much beside the others."""
