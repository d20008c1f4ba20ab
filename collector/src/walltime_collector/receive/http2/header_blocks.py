"""The header blocks of a connection: put together, read, and judged once for all that are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple

import hpack

from . import frames
from .frames import ConnectionFailed
from .service import Call, Headers, Response

MAX_HEADER_BYTES = 16 * 1024
_MAX_CONTINUATIONS = 16
_MAX_KNOWN = 64
_REFERENCES = 0x80
"""Bytes from here on name fields of the tables; a block of nothing else changes no table."""


class Block(NamedTuple):
    """A whole header block, with the stream and the flags of the frame that began it."""

    stream: int
    flags: int
    content: bytes


class HeaderBlocks(Generic[Call]):
    """
    Args:
        judge: What is made of the fields. A block of references alone means the same until a table changes, so until
            then it is asked once.
    """

    def __init__(self, judge: Callable[[Headers], Call | Response]) -> None:
        self._ask = judge
        self._decoder = hpack.Decoder(max_header_list_size=MAX_HEADER_BYTES)
        self._known: dict[bytes, Call] = {}
        self._begun: tuple[int, int] = (0, 0)
        self._parts: list[bytes] = []

    @property
    def unfinished_stream(self) -> int:
        """The stream of the block that is to be continued, 0 when there is none."""
        return self._begun[0]

    def begin(self, stream: int, flags: int, payload: bytes) -> Block | None:
        """Take a HEADERS frame; the block when it is whole."""
        content = frames.unpadded(flags, payload)
        if flags & frames.WITH_PRIORITY:
            content = content[5:]
        if flags & frames.END_HEADERS:
            return Block(stream, flags, content)
        self._begun, self._parts = (stream, flags), [content]
        return None

    def proceed(self, flags: int, payload: bytes) -> Block | None:
        """Take a CONTINUATION frame; the block when it is whole."""
        if not self.unfinished_stream:
            raise ConnectionFailed(frames.PROTOCOL_ERROR, "it continues nothing")
        self._parts.append(payload)
        if len(self._parts) > _MAX_CONTINUATIONS or sum(map(len, self._parts)) > MAX_HEADER_BYTES:
            raise ConnectionFailed(frames.ENHANCE_YOUR_CALM, f"headers of more than {MAX_HEADER_BYTES} bytes")
        if not flags & frames.END_HEADERS:
            return None
        (stream, first_flags), self._begun = self._begun, (0, 0)
        return Block(stream, first_flags, b"".join(self._parts))

    def judge(self, content: bytes) -> Call | Response:
        """What the service makes of the block."""
        known = self._known.get(content)
        if known is not None:
            return known
        judged = self._ask(self.read(content))
        if min(content, default=0) >= _REFERENCES and not isinstance(judged, Response):  # each refusal is counted
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[content] = judged
        return judged

    def read(self, content: bytes) -> Headers:
        """The fields. Every block must be read or known, also of calls that are not wanted: it may change the table."""
        if min(content, default=0) < _REFERENCES:
            self._known.clear()
        try:
            return list(self._decoder.decode(content, raw=True))
        except hpack.OversizedHeaderListError:
            raise ConnectionFailed(frames.ENHANCE_YOUR_CALM, f"headers of more than {MAX_HEADER_BYTES} bytes") from None
        except (hpack.HPACKError, UnicodeDecodeError, IndexError, ValueError) as error:
            raise ConnectionFailed(frames.COMPRESSION_ERROR, "the headers cannot be read") from error
