"""A TCP server in front of another one, which passes everything on, answers later: a slow network, a busy server."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from types import TracebackType

from shop.process import LOOPBACK


class Proxy:
    """
    Listens on a free loopback port from construction on.

    Args:
        port: Where the server behind it listens.
    """

    delay_s: float = 0.0
    """Every answer is held back this long; may be changed at any time."""

    def __init__(self, port: int) -> None:
        self._behind = port
        self._listener = socket.create_server((LOOPBACK, 0), backlog=64)
        self._open: list[socket.socket] = []
        self.address = f"{LOOPBACK}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stop listening and cut every connection."""
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection((LOOPBACK, self._behind))
                except OSError:
                    client.close()
                    continue
                self._open += [client, server]
                for each in (client, server):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pass_on, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(server, client, True), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if is_answer and self.delay_s:
                    time.sleep(self.delay_s)
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
