"""A minimal HTTP/2 client for the gRPC port, which sends any frames."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator, Mapping

import hpack

from tests.collector.receive import http2_frames as frames
from tests.collector.receive.http2_frames import frame
from tests.servers import Collector

PATH = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
HEADERS = [
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", PATH.encode()),
    (b":authority", b"localhost"),
    (b"content-type", b"application/grpc"),
    (b"te", b"trailers"),
]
NOTHING: Mapping[bytes, bytes] = {}
OPEN = frames.END_HEADERS
WHOLE = frames.END_HEADERS | frames.END_STREAM


class Peer:
    """An HTTP/2 client that sends any frames and shows the frames of the server."""

    def __init__(self, receiver: Collector, greeting: bytes = frames.PREFACE + frames.settings({})) -> None:
        host, port = receiver.grpc.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), 20)
        self._encoder, self._decoder = hpack.Encoder(), hpack.Decoder()
        self._rest = b""
        self.send(greeting)

    def send(self, *parts: bytes) -> None:
        with contextlib.suppress(ConnectionError):  # the server may have closed already; the frames show it
            self._socket.sendall(b"".join(parts))

    def headers(self, stream: int, flags: int = OPEN, changes: Mapping[bytes, bytes] = NOTHING) -> bytes:
        fields = dict(HEADERS) | dict(changes)
        return frame(frames.HEADERS, flags, stream, self._encoder.encode(list(fields.items())))

    def trailers(self, stream: int, name: bytes, value: bytes) -> bytes:
        return frame(frames.HEADERS, WHOLE, stream, self._encoder.encode([(name, value)]))

    def call(self, stream: int, body: bytes) -> bytes:
        whole = b"\x00" + len(body).to_bytes(4, "big") + body
        return self.headers(stream) + frame(frames.DATA, frames.END_STREAM, stream, whole)

    def frames(self) -> Iterator[tuple[int, int, int, bytes]]:
        """The received frames: type, flags, stream, payload; it ends when the server closes."""
        while True:
            while len(self._rest) < 9 or len(self._rest) < 9 + int.from_bytes(self._rest[:3], "big"):
                try:
                    more = self._socket.recv(65536)
                except ConnectionError:
                    return
                if not more:
                    return
                self._rest += more
            size = 9 + int.from_bytes(self._rest[:3], "big")
            head, self._rest = self._rest[:size], self._rest[size:]
            yield head[3], head[4], int.from_bytes(head[5:9], "big"), head[9:]

    def status(self, stream: int) -> str:
        """The gRPC status that ends this call; as an HTTP status when there is none."""
        for frame_type, flags, of, payload in self.frames():
            if frame_type == frames.HEADERS:
                fields = {bytes(name): bytes(value) for name, value in self._decoder.decode(payload, raw=True)}
                if of == stream and flags & frames.END_STREAM:
                    return (fields.get(b"grpc-status") or fields[b":status"]).decode()
            elif frame_type == frames.RST_STREAM and of == stream:
                return f"reset {struct.unpack('>I', payload)[0]}"
            elif frame_type == frames.GOAWAY:
                return f"goaway {struct.unpack('>I', payload[4:8])[0]}"
        return "closed"

    def ending(self) -> str:
        """How the other side ended the connection: the code of its GOAWAY."""
        code = "closed"
        for frame_type, _, _, payload in self.frames():
            if frame_type == frames.GOAWAY:
                code = f"goaway {struct.unpack('>I', payload[4:8])[0]}"
        return code

    def close(self) -> None:
        self._socket.close()
