"""
One connection to a collector's OTLP/gRPC port: as much of HTTP/2 as one unary call at a time needs.

A gRPC library would cost the sender more than the collector spends on the call.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Any, Final

PATH: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_INITIAL_WINDOW_SIZE: Final = 4
_FRAME_BYTES: Final = 16_384


class Http2Connection(asyncio.Protocol):
    """
    Sends one call at a time.

    Args:
        answered: Told 200 when the call was answered with a message, 503 when with an error, 0 when the connection
            ended without an answer.
    """

    def __init__(self, address: str, encoding: str, answered: Callable[[Http2Connection, int], None]) -> None:
        self._answered = answered
        self._transport: Any = None
        headers = {":path": PATH, ":authority": address, "content-type": "application/grpc", "te": "trailers"}
        if encoding:
            headers["grpc-encoding"] = encoding
        self._is_compressed = bool(encoding)
        self._headers = b"\x83\x86" + b"".join(_literal(*each) for each in headers.items())  # POST, http
        self._stream = -1
        self._unsent = b""
        self._window = self._stream_window = self._first_window = 65_535
        self._received = b""
        self._has_message = False
        self._waits = False

    def send(self, body: bytes) -> None:
        """Make a call; `answered` is called when it ends."""
        self._stream += 2
        self._stream_window, self._has_message, self._waits = self._first_window, False, True
        self._unsent = struct.pack(">BI", self._is_compressed, len(body)) + body
        self._send_more(_frame(_HEADERS, _END_HEADERS, self._stream, self._headers))

    def close(self) -> None:
        """End the connection, without a word to `answered`."""
        self._waits = False
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        grow = _frame(_WINDOW_UPDATE, 0, 0, (1 << 30).to_bytes(4, "big"))
        self._transport.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(_SETTINGS, 0, 0, b"") + grow)

    def data_received(self, data: bytes) -> None:
        received, at = self._received + data, 0
        while len(received) >= at + 9:
            end = at + 9 + int.from_bytes(received[at : at + 3], "big")
            if end > len(received):
                break
            stream = int.from_bytes(received[at + 5 : at + 9], "big")
            self._take(received[at + 3], received[at + 4], stream, received[at + 9 : end])
            at = end
        self._received = received[at:]

    def connection_lost(self, error: Exception | None) -> None:
        if self._waits:
            self._end(0)

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == _DATA and stream == self._stream and payload:
            self._has_message = True
        elif kind == _SETTINGS and not flags & _ACK:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack_from(">HI", payload, at)
                if name == _INITIAL_WINDOW_SIZE:
                    self._stream_window += value - self._first_window
                    self._first_window = value
            self._send_more(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            self._transport.write(_frame(_PING, _ACK, 0, payload))
        elif kind == _WINDOW_UPDATE:
            more = int.from_bytes(payload, "big")
            if stream == 0:
                self._window += more
            elif stream == self._stream:
                self._stream_window += more
            self._send_more()
        elif kind == _GOAWAY:
            self._transport.close()
        if self._waits and stream == self._stream:
            if kind == _RST_STREAM:
                self._end(503)
            elif kind in (_DATA, _HEADERS) and flags & _END_STREAM:
                self._end(200 if self._has_message else 503)

    def _send_more(self, *before: bytes) -> None:
        frames = list(before)
        while self._unsent and (room := min(self._window, self._stream_window, _FRAME_BYTES)) > 0:
            part, self._unsent = self._unsent[:room], self._unsent[room:]
            self._window -= len(part)
            self._stream_window -= len(part)
            frames.append(_frame(_DATA, 0 if self._unsent else _END_STREAM, self._stream, part))
        if frames:
            self._transport.writelines(frames)

    def _end(self, status: int) -> None:
        self._waits, self._unsent = False, b""
        self._answered(self, status)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">HBBBI", len(payload) >> 8, len(payload) & 255, kind, flags, stream) + payload


def _literal(name: str, value: str) -> bytes:
    """A header field of HPACK that no table remembers; names and values are shorter than 127 bytes."""
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
