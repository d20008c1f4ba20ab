"""What the tests under load ask and say: ways to send, whether all is stored, what the processes hold."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.bench.ingest_sender import Order, Sent
from tests.bench.visible import ask
from tests.servers import Collector, eventually

MIB = 1024 * 1024
SPANS_PER_S = 10_000
WAYS = {
    f"{name}{' gzip' * bool(encoding)}": Order("", "", "", is_grpc=is_grpc, encoding=encoding, spans_per_s=SPANS_PER_S)
    for name, is_grpc in (("HTTP", False), ("gRPC", True))
    for encoding in ("", "gzip")
}


class Bodies(Protocol):
    def __call__(self, spans: int = 100, *, is_zipped: bool = False) -> str:
        """The name of a file of different requests of so many spans."""


def stored(collector: Collector) -> int:
    return int(ask(collector, "SELECT count() FROM spans")[0][0])


def check_all_stored(collector: Collector, expected: int) -> None:
    """So many spans are in the table, and the counters say that there is nothing else."""
    eventually(lambda: collector.health()["spans"]["spooled"] == 0, 120)
    assert stored(collector) == expected
    said = collector.health()["spans"]
    assert said["received"] == said["stored"]
    assert said["rejected"] == said["dead"] == said["lost"] == 0


def acks(sent: Sent) -> str:
    """For people."""
    return f"{sent.spans / sent.seconds:,.0f} spans/s, ack p50 {sent.ack_p50_ms:.1f} ms, p99 {sent.ack_p99_ms:.1f} ms"


@dataclass(frozen=True)
class Held:
    """What processes hold at a moment."""

    rss_bytes: int
    files: int
    threads: int

    @property
    def rss_mib(self) -> float:
        return self.rss_bytes / MIB


def held(pids: Iterable[int]) -> Held:
    """Of these processes together."""
    pages = files = threads = 0
    for process in (Path(f"/proc/{pid}") for pid in pids):
        pages += int((process / "statm").read_text().split()[1])
        files += len(list((process / "fd").iterdir()))
        threads += len(list((process / "task").iterdir()))
    return Held(pages * os.sysconf("SC_PAGE_SIZE"), files, threads)


def slope(at: Sequence[float], values: Sequence[float]) -> float:
    """Of the line through the points by least squares."""
    return statistics.linear_regression(at, values).slope
