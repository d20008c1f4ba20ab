"""
Collectors in every bad state: each takes connections on a free loopback port and does what its name says.

And one that is well, to compare with.
"""

from __future__ import annotations

import contextlib
import http.server
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

STATES = ("refusing", "black hole", "503", "resets", "trickles", "garbage", "endless")


@contextlib.contextmanager
def collector(state: str) -> Iterator[str]:
    """Run one; gives the endpoint to configure."""
    server = socket.create_server(("127.0.0.1", 0), backlog=128)
    port = server.getsockname()[1]
    over = threading.Event()
    if state == "refusing":
        server.close()
    elif state != "black hole":  # which the kernel alone is: it takes connections and requests, and nobody reads them
        threading.Thread(target=_serve, args=(server, over, _ANSWERS[state]), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{port}/v1/traces"
    finally:
        over.set()
        server.close()


@contextlib.contextmanager
def collector_up() -> Iterator[str]:
    """Run one that takes everything and keeps nothing."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/traces"
        server.shutdown()


def _serve(server: socket.socket, over: threading.Event, answer: Callable[[socket.socket], None]) -> None:
    def serve_one(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while connection.recv(1 << 20) and not over.is_set():
                answer(connection)

    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve_one, args=(connection,), daemon=True).start()


def _busy(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    raise OSError


PIECE_S = 0.2


def _trickle(connection: socket.socket) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100_000:
        connection.sendall(bytes((byte,)))
        time.sleep(PIECE_S)


def _garbage(connection: socket.socket) -> None:
    connection.sendall(b"\x00\xff not HTTP at all \r\n\r\n")


def _endless(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")


_ANSWERS = {"503": _busy, "resets": _reset, "trickles": _trickle, "garbage": _garbage, "endless": _endless}
