"""A collector that may open few files, and connections that do nothing."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import grpc

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive.http2_peer import PATH
from tests.servers import Collector

ONE_SPAN = request(span()).SerializeToString()


DESCRIPTORS = 256


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
