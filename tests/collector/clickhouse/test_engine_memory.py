"""The engine's process has a memory limit of its own, gives memory back, and is replaced when it keeps too much."""

from __future__ import annotations

import os
import resource
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.errors import QueryFailed
from walltime_collector.sql.guard.messages import public

from tests.collector.clickhouse.engine_processes import engines_of
from tests.collector.clickhouse.two_engines import count, some_records
from tests.servers import eventually, with_tables

MIB = 1024 * 1024
MORE_THAN_IT_COUNTS = "SELECT length(printf('%1500000000d', 1))"
MUCH = "SELECT uniqExact(number), uniqExact(number + 1) FROM numbers(2000000)"
LIMITS = {"max_memory_usage": str(512 * MIB), "max_threads": "1"}


class Own:
    """An engine of this process, whose limit is a little above what it has now."""

    def __init__(self, directory: Path, more_bytes: int) -> None:
        self.counts: Counter[str] = Counter()
        before = set(engines_of(os.getpid()))
        self.engine = EmbeddedEngine(with_tables(directory), "walltime", lambda name: self.counts.update([name]))
        self.engine.migrate()
        (self.process,) = set(engines_of(os.getpid())) - before
        self.own_limit = resource.prlimit(self.process, resource.RLIMIT_DATA)[0]
        self.small = self.memory_bytes()
        self.limit(self.small + more_bytes)

    def limit(self, limit_bytes: int) -> None:
        hard = resource.prlimit(self.process, resource.RLIMIT_DATA)[1]
        resource.prlimit(self.process, resource.RLIMIT_DATA, (limit_bytes, hard))

    def memory_bytes(self, name: str = "VmData") -> int:
        """VmData is what the limit counts, VmHWM the most that was ever in memory."""
        status = Path(f"/proc/{self.process}/status").read_text()
        return 1024 * int(status.partition(f"{name}:")[2].split(maxsplit=1)[0])

    def read(self, sql: str) -> bytes:
        return self.engine.read(sql, "TSV", name=sql, settings=LIMITS)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Own]:
    own = Own(tmp_path, 400 * MIB)
    yield own
    own.engine.close()


def test_what_clickhouse_does_not_count_ends_that_statement_only(own: Own) -> None:
    assert own.own_limit <= 3 * 1024 * MIB
    with pytest.raises(QueryFailed) as failed:
        own.read(MORE_THAN_IT_COUNTS)
    assert "Code: 241" in public(str(failed.value), "walltime")
    assert "no more memory for it now" in public(str(failed.value), "walltime")
    assert own.memory_bytes("VmHWM") < own.small + 600 * MIB
    assert own.read("SELECT 1") == b"1\n"
    own.engine.insert(some_records(1), "after")
    assert count(own.engine) >= 20
    assert own.counts == Counter()


def test_memory_that_is_not_in_use_is_given_back(own: Own) -> None:
    own.read(MUCH)
    assert own.memory_bytes() > own.small + 100 * MIB
    own.limit(own.small + 50 * MIB)  # two thirds of it are less than the process has now
    eventually(lambda: own.memory_bytes() < own.small + 50 * MIB)
    assert own.counts == Counter()


@pytest.mark.nightly
@pytest.mark.timeout(120)
def test_a_process_that_stays_large_is_replaced_and_nothing_is_lost(own: Own, caplog: pytest.LogCaptureFixture) -> None:
    own.engine.insert(some_records(1), "before")
    stored = count(own.engine)
    own.limit(own.small + 10 * MIB)
    eventually(lambda: own.counts["engine_restarts"], 60)
    assert "kept too much memory" in caplog.text
    assert count(own.engine) == stored > 0
    assert resource.prlimit(engines_of(os.getpid())[-1], resource.RLIMIT_DATA)[0] == own.own_limit
