"""Cuts what arrives, in whatever pieces, into frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import frames
from .frames import ConnectionFailed

MAX_FRAME_BYTES = 64 * 1024


class Frame(NamedTuple):
    """A frame as it came; nothing of it is checked but its size."""

    kind: int
    flags: int
    stream: int
    payload: bytes


class FrameReader:
    """One connection's bytes, from the client's preface on."""

    def __init__(self) -> None:
        self._rest = b""
        self.is_greeted = False
        """Whether the client said its preface."""

    def feed(self, data: bytes) -> Iterator[Frame]:
        """
        The frames that are whole now.

        Raises:
            ConnectionFailed: This is not HTTP/2, or a frame is larger than we said that it may be.
        """
        if self._rest:
            data = self._rest + data
        at = 0 if self.is_greeted else self._greet(data)
        while self.is_greeted and len(data) - at >= frames.HEAD_BYTES:
            size = int.from_bytes(data[at : at + 3], "big")
            if size > MAX_FRAME_BYTES:
                raise ConnectionFailed(frames.FRAME_SIZE_ERROR, f"a frame of more than {MAX_FRAME_BYTES} bytes")
            start = at + frames.HEAD_BYTES
            end = start + size
            if end > len(data):
                break
            stream = int.from_bytes(data[at + 5 : start], "big") & frames.LARGEST_WINDOW_BYTES
            yield Frame(data[at + 3], data[at + 4], stream, data[start:end])
            at = end
        self._rest = data[at:]

    def _greet(self, data: bytes) -> int:
        preface = frames.PREFACE
        if not preface.startswith(data[: len(preface)]):
            raise ConnectionFailed(frames.PROTOCOL_ERROR, "this port speaks gRPC, which is HTTP/2, and nothing else")
        self.is_greeted = len(data) >= len(preface)
        return len(preface) if self.is_greeted else 0
