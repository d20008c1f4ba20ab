"""The engine's process has a memory limit of its own, gives memory back, and is replaced when it keeps too much."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from walltime_collector.clickhouse.dialect import error_code, insert_error
from walltime_collector.clickhouse.embedded.child import _Connection
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.errors import EngineFull, EngineUnavailable, InsertRefused, QueryFailed
from walltime_collector.spool.segment import Record
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


def test_a_request_that_does_not_fit_gets_a_new_process(own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once: it was sent again to the same process until that was ended for its size, after 30 s to 300 s."""
    sent: list[float] = []
    begin = _Connection.begin

    def count_and_begin(connection: _Connection, within_s: float) -> None:
        sent.append(within_s)
        begin(connection, within_s)

    monkeypatch.setattr(_Connection, "begin", count_and_begin)
    own.limit(own.memory_bytes() + 20 * MIB)
    with pytest.raises(InsertRefused):  # by the new process, which could read it
        own.engine.insert([Record(1, 1, b"\xff" * 64 * MIB)], "large")
    assert own.counts["engine_restarts"] == 1
    assert len(sent) == 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Code: 173. DB::Exception: Allocator: Cannot malloc 4.00 MiB: , errno: 12", EngineFull),
        ("Code: 1001. DB::Exception: std::bad_alloc: std::bad_alloc. (STD_EXCEPTION)", EngineFull),
        ("Code: 1001. DB::Exception: std::exception. Code: 1001, type: std::bad_alloc, e.what() = …", EngineFull),
        ("MemoryError", EngineFull),
        ("Code: 1001. DB::Exception: std::exception. Code: 1001, type: std::__1::system_error", EngineUnavailable),
    ],
)
def test_an_insert_without_memory_can_be_divided(text: str, kind: type[Exception]) -> None:
    assert type(insert_error("insert token", text, error_code(text))) is kind


@pytest.mark.parametrize(("container", "limit_mib"), [("536870912", 1024), ("1610612736", 1152), ("max", 3072)])
def test_the_limit_follows_the_container_and_leaves_room_for_one_segment(
    tmp_path: Path, container: str, limit_mib: int
) -> None:
    """Idle, the process has 330 MiB: with three quarters of 512 MiB it stored nothing."""
    file = tmp_path / "memory.max"
    file.write_text(container)
    own = "from walltime_collector.clickhouse.embedded import memory; import os, resource"
    code = f"{own}; memory._LIMITS_OF_CONTAINERS = ({str(file)!r},); os.sysconf = lambda name: 1 << 17; "
    code += "memory.limit_memory(); print(resource.getrlimit(resource.RLIMIT_DATA)[0] >> 20)"
    assert int(subprocess.check_output([sys.executable, "-c", code])) == limit_mib


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
