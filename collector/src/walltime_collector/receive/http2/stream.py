"""What is known of one call on a connection, and how its answer is written."""

from __future__ import annotations

from typing import Generic, NamedTuple

from . import frames
from .service import Call, Response


class Limits(NamedTuple):
    """
    Seconds a connection may take.

    header_s     from the connection to its first settings, and from the start of a header block to its end
    request_s    from a request's headers to the end of its body
    first_call_s without any call
    idle_s       since the last one
    """

    header_s: float
    request_s: float
    first_call_s: float = 30.0
    idle_s: float = 600.0


class Stream(Generic[Call]):
    """A call that is arriving, being worked on, or waiting to be answered; `size` is of its body so far."""

    __slots__ = ("call", "chunks", "deadline_s", "granted", "is_streaming", "is_whole", "size", "unsent")

    def __init__(self, call: Call, deadline_s: float) -> None:
        self.call, self.deadline_s = call, deadline_s
        self.chunks: list[bytes] = []
        self.size = 0
        self.is_whole = False
        self.is_streaming = False
        """Whether it is answered by a stream, which has begun."""
        self.granted = 0
        """What the peer's WINDOW_UPDATEs added to its initial window for this stream, less what we sent."""
        self.unsent: Response | None = None


def framed(stream: int, response: Response) -> bytes:
    """The frames of a response; with data, only while the windows have room for it."""
    if not response.is_last:
        head = frames.frame(frames.HEADERS, frames.END_HEADERS, stream, response.head) if response.head else b""
        return head + frames.frame(frames.DATA, 0, stream, response.data)
    if not response.trailers:
        return frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, response.head)
    return (
        frames.frame(frames.HEADERS, frames.END_HEADERS, stream, response.head)
        + frames.frame(frames.DATA, 0, stream, response.data)
        + frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, response.trailers)
    )
