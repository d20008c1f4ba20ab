"""A real engine that holds known traffic of the shop; one at a time, because chDB is one database per process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from walltime_collector.engine import Engine
from walltime_collector.engine.embedded import EmbeddedEngine
from walltime_collector.spool.segment import Record

from tests.collector.traffic import Sent, Shop, export_request

MINUTE_NS = 60_000_000_000
Store = Callable[[Sequence[Sent]], None]


@dataclass
class Stored:
    engine: Engine
    sent: list[Sent]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    directory: Path = tmp_path_factory.mktemp("engine")
    engine = EmbeddedEngine(directory, "walltime")
    engine.migrate()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def store(engine: Engine) -> Store:
    """Stores transactions the way the loader does, through the OTLP they would have arrived as."""
    tokens = iter(range(1_000_000))

    def insert(sent: Sequence[Sent]) -> None:
        payload = export_request(sent)
        engine.insert([Record(time.time_ns(), len(sent), payload)], f"test-{next(tokens)}")

    return insert


@pytest.fixture(scope="module")
def shop(engine: Engine, store: Store) -> Stored:
    """Ten minutes of the shop: 600 visits, oldest first, the first one just under ten minutes ago."""
    visits, first_ns = 600, time.time_ns() - 10 * MINUTE_NS + 1_000_000_000
    makes = Shop(seed=7)
    sent = [each for at in range(visits) for each in makes.visit(first_ns + at * (9 * MINUTE_NS // visits))]
    store(sent)
    return Stored(engine, sent)
