"""One engine for all modules of the folder, empty at the start of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine

from tests.collector.conftest import emptied_behind


@pytest.fixture(scope="module")
def engine(shared_engine: EmbeddedEngine) -> Iterator[EmbeddedEngine]:
    with emptied_behind(shared_engine) as engine:
        yield engine
