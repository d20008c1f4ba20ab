"""The rows of `make bench-ingest`: each is a collector of its own, a sender, and what was counted in the end."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.bench.ingest_bodies import opentelemetry_bodies
from tests.bench.ingest_sender import Body, Order, Sent, write_bodies
from tests.bench.process_usage import Usage, usage
from tests.bench.sending import COLLECTOR_CORE, SENDER_CORE, collector_on, on, send, sending, to
from tests.bench.shop_recorded import recorded
from tests.bench.visible import ask, visible_after_s
from tests.clickhouse_server import ClickHouseServer
from tests.servers import Collector, eventually

SMALL_SPOOL_BYTES: Final = 96 * 1024 * 1024
"""For the search of the highest rate: what cannot be stored in time is refused within seconds, not minutes."""
BUSY_S: Final = 4.0
LONGEST_DRAIN_S: Final = 300


class NotStored(Exception):
    """What was acknowledged is not in the tables: there is nothing to measure."""


@dataclass(frozen=True)
class Variant:
    """A way to run the collector: WALLTIME_… settings by the lower-case rest of their names."""

    name: str
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, written: str) -> Variant:
        """`NAME:SETTING=VALUE,…`; the settings may be missing."""
        name, _, settings = written.partition(":")
        return cls(name, dict(pair.split("=", 1) for pair in settings.split(",") if pair))


@dataclass(frozen=True)
class Row:
    """What is sent, and how the machine is divided."""

    title: str
    bodies: Callable[[], list[Body]]
    order: Order
    seconds: tuple[float, float]
    """Whole and quick."""
    merges_s: tuple[float, float] = (5.0, 3.0)
    is_pinned: bool = True
    tables: tuple[str, ...] = ("spans",)
    """Where each span that was sent is once; a foreign root may be a transaction besides."""
    is_server: bool = False
    """Whether it stores in a server by HTTP."""
    sees: bool = False
    """Whether to measure how soon what is sent can be asked for."""
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """What one run of a row found; CPU in microseconds per stored span."""

    spans: float
    requests: float
    acked_per_s: float
    stored_per_s: float
    """Spans, over the time from the first request until all are stored."""
    front_us: float
    database_us: float
    is_apart: bool
    cpu_per_request_us: float
    """The front's alone when it is apart."""
    ack_p50_ms: float
    ack_p99_ms: float
    front_rss_bytes: float
    database_rss_bytes: float
    rate_per_s: float = 0.0
    """Spans, when the first request was refused or sending fell behind; else the rate asked for."""
    kept_up_per_s: float = 0.0
    """Spans: see Sent."""
    refused: dict[str, int] = field(default_factory=dict)
    visible_idle_s: float | None = None
    visible_busy_s: float | None = None

    @property
    def together_us(self) -> float:
        return self.front_us + self.database_us


def _zipped(bodies: list[Body]) -> list[Body]:
    return [Body(body.spans, gzip.compress(body.content, 6)) for body in bodies]


_HTTP: Final = Order("", "", "")
_GRPC: Final = Order("", "", "", is_grpc=True)
ROWS: Final = {
    "512": Row("512 spans of any SDK, 100 KB", lambda: opentelemetry_bodies(512, 64), _HTTP, (12, 5)),
    "bills": Row(
        "Walltime, the shop's",
        lambda: recorded(10),
        _HTTP,
        (6, 4),
        tables=("spans", "transactions"),
    ),
    "gzip50": Row(
        "50 spans, gzip, 200 connections",
        lambda: _zipped(opentelemetry_bodies(50, 640)),
        replace(_HTTP, connections=200, encoding="gzip"),
        (6, 4),
    ),
    "grpc1": Row("1 span, gRPC", lambda: opentelemetry_bodies(1, 640), _GRPC, (6, 4)),
    "grpc512": Row("512 spans, gRPC", lambda: opentelemetry_bodies(512, 64), _GRPC, (6, 4)),
    "grpc50": Row("50 spans, gRPC", lambda: opentelemetry_bodies(50, 640), _GRPC, (6, 4)),
    "steady": Row(
        "100 spans, 10,000 spans/s",
        lambda: opentelemetry_bodies(100, 320),
        replace(_HTTP, spans_per_s=10_000),
        (8, 4),
        sees=True,
    ),
    "server": Row(
        "512 spans, stored in a server",
        lambda: opentelemetry_bodies(512, 64),
        _HTTP,
        (4, 3),
        merges_s=(2, 1),
        is_server=True,
    ),
    "2 cores": Row(
        "512 spans, both cores", lambda: opentelemetry_bodies(512, 64), _HTTP, (6, 4), merges_s=(0, 0), is_pinned=False
    ),
    "ramp": Row(
        "512 spans, ever faster",
        lambda: opentelemetry_bodies(512, 64),
        replace(_HTTP, spans_per_s=40_000, faster_by=1.25, step_s=2, until_refused=True),
        (30, 15),
        merges_s=(0, 0),
        settings={"max_spool_bytes": str(SMALL_SPOOL_BYTES)},
    ),
}


def measure(name: str, variant: Variant, *, is_quick: bool) -> Measured:
    """
    Run one row once.

    Raises:
        NotStored: Something that was acknowledged cannot be counted.
        ServiceError: The shop, whose data is sent, does not run here.
    """
    row = ROWS[name]
    core = COLLECTOR_CORE if row.is_pinned else None
    folder = Path(tempfile.mkdtemp(prefix="walltime-bench-"))
    try:
        bodies = folder / "bodies"
        write_bodies(bodies, row.bodies())
        with (
            _server(folder, core) if row.is_server else nullcontext(_Server()) as server,
            collector_on(core, folder / "data", **row.settings, **variant.settings, **server.settings) as collector,
        ):
            idle_s = _idle(collector, 1 if is_quick else 2) if row.sees else None
            processes = (collector.process.pid, *server.pids)
            before, before_spans, started_s = usage(*processes), _spans(collector, row), time.perf_counter()
            order = to(collector, replace(row.order, bodies=str(bodies), seconds=row.seconds[is_quick]))
            sent = send(order, SENDER_CORE if row.is_pinned else None)
            eventually(lambda: collector.health()["spans"]["spooled"] == 0, LONGEST_DRAIN_S)
            stored_s = time.perf_counter() - started_s
            time.sleep(row.merges_s[is_quick])
            after = usage(*processes)
            counted = _spans(collector, row) - before_spans
            if counted != sent.spans or not sent.spans:
                raise NotStored(
                    f"{row.title}: {sent.spans} spans were acknowledged, {counted} counted\n{collector.log()[-2000:]}"
                )
            busy_s = _busy(order, collector) if row.sees else None
            return _measured(sent, before, after, stored_s, idle_s, busy_s)
    finally:
        shutil.rmtree(folder)


@dataclass(frozen=True)
class _Server:
    """Where the collector stores, when it is not the embedded engine."""

    pids: tuple[int, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)


@contextmanager
def _server(folder: Path, core: int | None) -> Iterator[_Server]:
    """The tests' ClickHouse server, on the collector's core."""
    server = ClickHouseServer(folder / "clickhouse")
    with on(core):
        server.start()
    try:
        said = {"clickhouse": server.url, "clickhouse_user": server.user, "clickhouse_password": server.password}
        yield _Server((server.pid,), said)
    finally:
        server.stop()


def _measured(
    sent: Sent, before: Usage, after: Usage, stored_s: float, idle_s: float | None, busy_s: float | None
) -> Measured:
    front_s = after.front_cpu_s - before.front_cpu_s
    return Measured(
        spans=sent.spans,
        requests=sent.requests,
        acked_per_s=sent.spans / sent.seconds,
        stored_per_s=sent.spans / stored_s,
        front_us=front_s / sent.spans * 1e6,
        database_us=(after.database_cpu_s - before.database_cpu_s) / sent.spans * 1e6,
        is_apart=after.is_apart,
        cpu_per_request_us=front_s / sent.requests * 1e6,
        ack_p50_ms=sent.ack_p50_ms,
        ack_p99_ms=sent.ack_p99_ms,
        front_rss_bytes=after.front_rss_bytes,
        database_rss_bytes=after.database_rss_bytes,
        rate_per_s=sent.spans_per_s,
        kept_up_per_s=sent.kept_up_per_s,
        refused=sent.refused,
        visible_idle_s=idle_s,
        visible_busy_s=busy_s,
    )


def _idle(collector: Collector, times: int) -> float:
    seen_s = []
    for _ in range(times):
        time.sleep(1.5)
        seen_s.append(visible_after_s(collector))
    return max(seen_s)


def _busy(order: Order, collector: Collector) -> float:
    """The same is sent for a while again, because looking costs more than receiving."""
    with sending(replace(order, seconds=BUSY_S)) as sender:
        seen_s = []
        while sender.poll() is None:
            seen_s.append(visible_after_s(collector))
    return max(seen_s)


def _spans(collector: Collector, row: Row) -> int:
    return sum(int(ask(collector, f"SELECT count() FROM {table}")[0][0]) for table in row.tables)
