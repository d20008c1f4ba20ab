"""A collector that may open few files, and connections that do nothing."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from types import TracebackType
from typing import ClassVar

import grpc

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive.http2_peer import PATH
from tests.servers import Collector

ONE_SPAN = request(span()).SerializeToString()


DESCRIPTORS = 256
MOST_OPEN = {"http": 72, "grpc": 72, "web": 24, "clickhouse": 24}
"""Connections that are open at once; http and grpc share theirs, and so do web and clickhouse."""


class FewDescriptors(Collector):
    """A collector with a ClickHouse port that may open 256 files, and no more if it asks."""

    options = ("--clickhouse-http", "127.0.0.1:0")
    launcher: ClassVar = ("sh", "-c", f'ulimit -n {DESCRIPTORS} && exec "$@"', "sh")

    @property
    def addresses(self) -> dict[str, tuple[str, int]]:
        parts = (part.split("=", 1) for part in self.ready.removeprefix("ready ").split())
        return {name: (address.rpartition(":")[0], int(address.rpartition(":")[2])) for name, address in parts}

    def descriptors(self) -> int:
        return len([*Path(f"/proc/{self.process.pid}/fd").iterdir()])


def sends(collector: Collector) -> None:
    """Both OTLP ports take a request."""
    assert collector.send(ONE_SPAN).status_code == 200
    with grpc.insecure_channel(collector.grpc) as channel:
        channel.unary_unary(PATH)(ONE_SPAN, timeout=20)


class Flood:
    """
    Twice as many connections to one port as the collector may open files.

    Args:
        data: What each sends; nothing after it.
    """

    def __init__(self, collector: FewDescriptors, port: str, data: bytes = b"", count: int = 2 * DESCRIPTORS) -> None:
        self._address, self._most_open = collector.addresses[port], MOST_OPEN[port]
        self._data, self.count = data, count
        self._answered: dict[socket.socket, bool] = {}
        """The connections that the collector has not closed, and whether it has sent anything."""

    def __enter__(self) -> Flood:
        for _ in range(self.count):
            connection = socket.create_connection(self._address, 30)
            self._answered[connection] = False
            with contextlib.suppress(ConnectionError):
                connection.sendall(self._data)
            connection.setblocking(False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for connection in self._answered:
            connection.close()

    def is_accepted(self) -> bool:
        """The collector has accepted all, and closed those above its limit."""
        return self._still_open() <= self._most_open

    def is_answered(self) -> bool:
        """As is_accepted, and those that are open have their response."""
        return self.is_accepted() and all(self._answered.values())

    def is_closed(self) -> bool:
        """The collector has closed all."""
        return not self._still_open()

    def _still_open(self) -> int:
        for connection in [*self._answered]:
            with contextlib.suppress(BlockingIOError):
                with contextlib.suppress(ConnectionError):
                    while connection.recv(65536):
                        self._answered[connection] = True
                connection.close()
                del self._answered[connection]
        return len(self._answered)
