"""Fixtures of the tests under load."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.ingest_bodies import opentelemetry_bodies
from tests.bench.ingest_sender import Body, write_bodies
from tests.bench.sending import COLLECTOR_CORE, collector_on
from tests.faults.load import Bodies
from tests.servers import Collector


@pytest.fixture(scope="module")
def bodies(tmp_path_factory: pytest.TempPathFactory) -> Bodies:
    folder = tmp_path_factory.mktemp("bodies")

    def write(spans: int = 100, *, is_zipped: bool = False) -> str:
        path = folder / f"{spans}-{is_zipped}"
        if not path.exists():
            made = opentelemetry_bodies(spans, 32)
            write_bodies(path, [Body(b.spans, gzip.compress(b.content)) for b in made] if is_zipped else made)
        return str(path)

    return write


@pytest.fixture
def pinned(tmp_path: Path) -> Iterator[Collector]:
    """A collector with a core of its own."""
    with collector_on(COLLECTOR_CORE, tmp_path / "data") as collector:
        yield collector
