"""Frames of HTTP/2: their numbers, and how they are written."""

from __future__ import annotations

import struct
from collections.abc import Iterator

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_BYTES = 9

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
WITH_PRIORITY = 0x20

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED = range(6)
FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM = range(6, 12)

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = (
    range(1, 7)
)
DEFAULT_WINDOW_BYTES = 65_535
LARGEST_WINDOW_BYTES = 2**31 - 1

_SETTING = struct.Struct(">HI")
_NUMBER = struct.Struct(">I")
_GOAWAY = struct.Struct(">II")


class ConnectionFailed(Exception):
    """The other side broke the rules of the connection: it ends, with this error code of HTTP/2."""

    def __init__(self, code: int, what: str) -> None:
        super().__init__(what)
        self.code = code


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def settings(values: dict[int, int]) -> bytes:
    """A SETTINGS frame."""
    return frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(*each) for each in values.items()))


def read_settings(payload: bytes) -> Iterator[tuple[int, int]]:
    """What a SETTINGS frame says. Raises ConnectionFailed when it cannot be one."""
    if len(payload) % _SETTING.size:
        raise ConnectionFailed(FRAME_SIZE_ERROR, "a SETTINGS frame of no whole settings")
    yield from _SETTING.iter_unpack(payload)


def window_update(stream: int, count: int) -> bytes:
    """A WINDOW_UPDATE frame."""
    return frame(WINDOW_UPDATE, 0, stream, _NUMBER.pack(count))


def rst_stream(stream: int, code: int) -> bytes:
    """A RST_STREAM frame."""
    return frame(RST_STREAM, 0, stream, _NUMBER.pack(code))


def goaway(last_stream: int, code: int, what: str = "") -> bytes:
    """A GOAWAY frame; the text is for the other side's log."""
    return frame(GOAWAY, 0, 0, _GOAWAY.pack(last_stream, code) + what.encode())


def read_number(payload: bytes) -> int:
    """The 31 bits of a WINDOW_UPDATE or RST_STREAM. Raises ConnectionFailed when it is not four bytes."""
    if len(payload) != _NUMBER.size:
        raise ConnectionFailed(FRAME_SIZE_ERROR, "a frame of four bytes has another length")
    return int(_NUMBER.unpack(payload)[0])


def unpadded(flags: int, payload: bytes) -> bytes:
    """What a DATA or HEADERS frame holds without its padding. Raises ConnectionFailed when that is more than all."""
    if not flags & PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise ConnectionFailed(PROTOCOL_ERROR, "more padding than frame")
    return payload[1 : len(payload) - payload[0]]


def literal_headers(headers: list[tuple[bytes, bytes]]) -> bytes:
    """A header block that needs no table on either side: every field as a literal that is not to be remembered."""
    return b"".join(b"\x00" + _string(name) + _string(value) for name, value in headers)


def _string(text: bytes) -> bytes:
    if len(text) < 127:
        return bytes([len(text)]) + text
    rest = len(text) - 127
    length = b"\x7f"
    while rest > 127:
        length += bytes([rest & 127 | 128])
        rest >>= 7
    return length + bytes([rest]) + text
