"""Known traffic of the shop, in an engine (one at a time: chDB is one database per process) and in a collector."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.spool.segment import Record

from tests import servers
from tests.collector.traffic import Sent, Shop, export_request

MINUTE_NS = 60_000_000_000
_FILLED = """
SELECT name FROM system.tables
WHERE database = currentDatabase() AND total_rows > 0 AND name != 'schema_migrations'
"""
Store = Callable[[Sequence[Sent]], None]


@dataclass
class Stored:
    engine: Engine
    sent: list[Sent]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    directory: Path = tmp_path_factory.mktemp("engine")
    engine = EmbeddedEngine(servers.with_tables(directory), "walltime")
    engine.migrate()
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def shared_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    """For modules that only store and ask: another start takes 0.5 s of CPU, and its first questions as much."""
    engine = EmbeddedEngine(servers.with_tables(tmp_path_factory.mktemp("shared")), "walltime")
    engine.migrate()
    yield engine
    engine.close()


@contextmanager
def emptied_behind(engine: EmbeddedEngine) -> Iterator[EmbeddedEngine]:
    """Nothing that is stored meanwhile is there for the next; tables may not be changed."""
    yield engine
    for row in engine.query(_FILLED):
        engine.command(f"TRUNCATE TABLE {row['name']}")


@pytest.fixture(scope="module")
def store(engine: Engine) -> Store:
    """Stores transactions the way the loader does, through the OTLP they would have arrived as."""

    def insert(sent: Sequence[Sent]) -> None:
        payload = export_request(sent)
        engine.insert([Record(time.time_ns(), len(sent), payload)], f"test-{time.time_ns()}")

    return insert


@pytest.fixture(scope="module")
def shop(engine: Engine, store: Store) -> Stored:
    """Ten minutes of the shop: 600 visits, oldest first, the first one just under ten minutes ago."""
    visits, first_ns = 600, time.time_ns() - 10 * MINUTE_NS + 1_000_000_000
    makes = Shop(seed=7)
    sent = [each for at in range(visits) for each in makes.visit(first_ns + at * (9 * MINUTE_NS // visits))]
    store(sent)
    return Stored(engine, sent)


@dataclass
class Collector:
    """A `walltime serve` of this test run that has `sent` stored."""

    web: str
    sent: list[Sent]

    @property
    def url(self) -> str:
        return f"http://{self.web}"

    def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, Any, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection(self.web, timeout=30)
        try:
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read()), response.headers
        finally:
            connection.close()


@pytest.fixture(scope="session")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Collector]:
    """A `walltime serve` to send anything to, with short deadlines."""
    directory = tmp_path_factory.mktemp("receiver") / "data"
    with servers.Collector(directory, request_deadline_s=3.0, header_deadline_s=2.0) as running:
        yield running


@pytest.fixture(scope="session")
def stock_spans() -> list[ReadableSpan]:
    """700 spans as OpenTelemetry's own SDK makes them."""
    made, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made))
    tracer = provider.get_tracer("a stock application")
    for at in range(700):
        with tracer.start_as_current_span("GET /x", attributes={"n": at, "s": "t", "l": [1, 2], "b": True}) as span:
            span.add_event("happened", {"k": "v"})
    provider.shutdown()
    return list(made.get_finished_spans())


@pytest.fixture(scope="session")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    first_ns, makes = time.time_ns() - 5 * MINUTE_NS, Shop(seed=11)
    sent = [each for at in range(200) for each in makes.visit(first_ns + at * MINUTE_NS // 50)]
    with servers.Collector(tmp_path_factory.mktemp("collector") / "data") as program:
        assert program.send(export_request(sent)).status_code == 200
        running = Collector(program.web_url.removeprefix("http://"), sent)
        deadline = time.monotonic() + 60
        while running.get("/api/top?since=1h")[1]["transactions"] < len(sent):
            assert time.monotonic() < deadline, "what was acknowledged is not visible"
            time.sleep(0.05)
        yield running
