"""The way to a server that is not on this machine: passes on what it gets, answers a little later."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

from shop.process import LOOPBACK, Service


class Proxy:
    """
    Listens on a free loopback port from construction on.

    Args:
        delay_s: Every answer of the service is held back this long; may be changed at any time.
    """

    def __init__(self, service: Service, delay_s: float) -> None:
        self.delay_s = delay_s
        self._service = service
        self._listener = socket.create_server((LOOPBACK, 0), backlog=64)
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self.address = f"{LOOPBACK}:{self.port}"
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
                    server = socket.create_connection((LOOPBACK, self._service.port))
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
