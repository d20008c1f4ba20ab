"""An INSERT that fails, for whatever reason, raises; when the reason is gone, a repetition stores its rows once."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded import child
from walltime_collector.clickhouse.embedded.damage import DamagedParts
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.inserts import insert_settings, once_settings, protobuf_rows
from walltime_collector.errors import EngineError, EngineUnavailable, InsertRefused, QueryFailed
from walltime_collector.health.counters import Health
from walltime_collector.spool.segment import Record

from tests.collector.clickhouse.engine_processes import answers, engines_of
from tests.collector.clickhouse.spans import request, span
from tests.collector.clickhouse.two_engines import slow_rows
from tests.servers import eventually, with_tables
from tests.small_disk import filled, small_disk

BILL = {"walltime.schema": 1, "walltime.mysql.query.calls": 2}


def some_spans() -> list[Record]:
    """Three bills and two calls, whose parts are much larger than what is sent."""
    spans = [span(BILL), span(BILL), span(BILL), span({"a": "b"}), span()]
    return [Record(time.time_ns(), 5, request(*spans).SerializeToString())]


class Store:
    """What is written by an engine, in each of the ways of the product, and the numbers of rows."""

    def __init__(self, engine: EmbeddedEngine) -> None:
        self.engine = engine
        self.spans, self.slow = some_spans(), slow_rows(3)
        self.minute = json.dumps({"minute": int(time.time()), "collector": "a", "received": 1}).encode()

    def insert(self, what: str, token: str) -> None:
        if what == "spans":
            self.engine.insert(self.spans, token)
        elif what == "slow log":
            self.engine.insert_rows("slow_log_entries", self.slow, token)
        elif what == "health":
            self.engine.insert_rows("walltime_health", self.minute, token)
        else:
            copied = "INSERT INTO spans SELECT * FROM spans LIMIT 1"
            self.engine.command(copied, settings=once_settings(token))

    def rows(self) -> dict[str, int]:
        tables = ("transactions", "spans", "slow_queries", "walltime_health")
        counts = [f"(SELECT count() FROM {table}) AS {table}" for table in tables]
        counts.append("(SELECT sum(transactions) FROM transactions_1m) AS in_minutes")  # merges add its rows up
        return {name: int(number) for name, number in self.engine.query(f"SELECT {', '.join(counts)}")[0].items()}


WAYS = {
    "spans": {"transactions": 3, "spans": 2, "in_minutes": 3},
    "slow log": {"slow_queries": 3},
    "health": {"walltime_health": 1},
    "INSERT … SELECT": {"spans": 1},
}
MOST_BYTES = {"spans": 3_000, "slow log": 1_200, "health": 150, "INSERT … SELECT": 150}
"""More than what is sent, which is a file in memory first, and less than some file of its parts."""
TABLE = {"spans": "spans", "slow log": "slow_queries", "health": "walltime_health", "INSERT … SELECT": "spans"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with closing(EmbeddedEngine(with_tables(tmp_path_factory.mktemp("engine")), "walltime")) as engine:
        engine.migrate()
        store = Store(engine)
        store.insert("spans", "there is something to copy")
        yield store


@pytest.fixture(autouse=True)
def every_life_is_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is started again soon, however often a test makes it end."""
    monkeypatch.setattr(child, "_WELL_S", 0.0)


def fails_then_stores_once(store: Store, what: str, fault: AbstractContextManager[object]) -> str:
    """Insert while the fault lasts, and twice afterwards; return the message of the failure."""
    before, token = store.rows(), f"{what} {time.time_ns()}"
    with fault, pytest.raises((EngineUnavailable, QueryFailed)) as failed:
        store.insert(what, token)
    eventually(lambda: answers(store.engine))
    for _ in range(2):
        store.insert(what, token)
    after = store.rows()
    assert {name: after[name] - before[name] for name in after if after[name] != before[name]} == WAYS[what]
    return str(failed.value)


@contextmanager
def files_cannot_be_written(engine: EmbeddedEngine, after_bytes: int) -> Iterator[None]:
    """As on a disk that is full or broken: write() fails beyond that byte of a file. chDB takes the file for whole."""
    process = engine._child._process
    assert process is not None
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (after_bytes, resource.RLIM_INFINITY))
    yield  # the process that is started instead has no such limit


@contextmanager
def too_many_parts(engine: EmbeddedEngine, table: str) -> Iterator[None]:
    engine.command(f"SYSTEM STOP MERGES {table}")
    engine.command(f"ALTER TABLE {table} MODIFY SETTING parts_to_delay_insert = 1, parts_to_throw_insert = 1")
    yield
    engine.command(f"ALTER TABLE {table} RESET SETTING parts_to_delay_insert, parts_to_throw_insert")
    engine.command(f"SYSTEM START MERGES {table}")


@contextmanager
def view_that_throws(engine: EmbeddedEngine, table: str) -> Iterator[None]:
    engine.command("CREATE TABLE beside (n UInt8) ENGINE = Null")
    engine.command(f"CREATE MATERIALIZED VIEW throws TO beside AS SELECT throwIf(1, 'a view fails') AS n FROM {table}")
    yield
    engine.command("DROP VIEW throws")
    engine.command("DROP TABLE beside")


@contextmanager
def table_that_is_gone(engine: EmbeddedEngine, table: str) -> Iterator[None]:
    engine.command(f"RENAME TABLE {table} TO elsewhere")
    yield
    engine.command(f"RENAME TABLE elsewhere TO {table}")


@contextmanager
def few_descriptors(engine: EmbeddedEngine) -> Iterator[None]:
    process = engine._child._process
    assert process is not None
    soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    number = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (number + 4, hard))
    yield
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("what", WAYS)
def test_a_write_that_fails_is_noticed_and_its_rows_are_stored_again(store: Store, what: str) -> None:
    before = engines_of(os.getpid())
    message = fails_then_stores_once(store, what, files_cannot_be_written(store.engine, MOST_BYTES[what]))
    assert "a file of the database could not be written" in message
    assert engines_of(os.getpid()) != before, "the process that has damaged parts in memory is replaced"


@pytest.mark.parametrize("what", WAYS)
def test_a_view_that_fails_makes_the_insert_fail(store: Store, what: str) -> None:
    message = fails_then_stores_once(store, what, view_that_throws(store.engine, TABLE[what]))
    assert "a view fails" in message


@pytest.mark.parametrize("what", ["spans", "INSERT … SELECT"])
def test_too_many_parts_make_the_insert_fail(store: Store, what: str) -> None:
    assert "TOO_MANY_PARTS" in fails_then_stores_once(store, what, too_many_parts(store.engine, TABLE[what]))


def test_without_space_every_insert_fails(tmp_path: Path) -> None:
    with (
        small_disk(tmp_path / "disk", 64 * 1024 * 1024) as disk,
        closing(EmbeddedEngine(with_tables(disk / "data"), "walltime")) as engine,
    ):
        engine.migrate()
        store = Store(engine)
        store.insert("spans", "there is something to copy")
        for what in WAYS:
            assert "NOT_ENOUGH_SPACE" in fails_then_stores_once(store, what, filled(disk, 512 * 1024))


@pytest.mark.parametrize("what", ["spans", "slow log", "health"])
def test_a_table_that_is_gone_makes_the_insert_fail(store: Store, what: str) -> None:
    assert "UNKNOWN_TABLE" in fails_then_stores_once(store, what, table_that_is_gone(store.engine, TABLE[what]))


def test_without_file_descriptors_the_insert_fails(store: Store) -> None:
    fails_then_stores_once(store, "spans", few_descriptors(store.engine))


@pytest.mark.parametrize(
    ("settings", "code"),
    [({"max_memory_usage": "1000000"}, "241"), ({"max_execution_time": "0.001"}, "159")],
)
def test_a_limit_makes_the_insert_fail(tmp_path: Path, settings: dict[str, str], code: str) -> None:
    engine = EmbeddedEngine(with_tables(tmp_path), "walltime")
    with closing(engine):
        large = [Record(time.time_ns(), 1, request(*[span({"fill": "x" * 500})] * 4_000).SerializeToString())]

        def insert(limits: dict[str, str]) -> None:
            made = {**engine._spans_schema, **insert_settings("limited"), **limits}
            engine._insert("otlp_traces", "Protobuf", made, protobuf_rows(large), "limited")

        with pytest.raises(EngineUnavailable, match=f"Code: {code}"):
            insert(settings)
        assert Store(engine).rows()["spans"] == 0
        for _ in range(2):
            insert(dict.fromkeys(settings, "0"))
        assert Store(engine).rows()["spans"] == 4_000


def test_bad_data_is_refused_and_nothing_of_it_stored(store: Store) -> None:
    before = store.rows()
    with pytest.raises(InsertRefused):
        store.engine.insert([*store.spans, Record(1, 1, b"\x0a\x05\x12\x03\x12\x7f\x00")], "garbage")
    with pytest.raises(InsertRefused):
        store.engine.insert_rows("slow_log_entries", store.slow + b'{"read_at": "x"}\n', "no number")
    assert store.rows() == before


def test_an_insert_that_is_cancelled_raises(tmp_path: Path) -> None:
    """KILL QUERY while its data comes slowly."""
    database = subprocess.run(
        [sys.executable, "-c", CANCELLED, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert database.stdout.split() == ["QUERY_WAS_CANCELLED", "0"], database.stderr


CANCELLED = """
import sys, threading, time
sys.modules["pyarrow"] = None
from pathlib import Path
from walltime_collector.clickhouse.embedded.database import Database
database = Database(Path(sys.argv[1]), "test")
database.command("CREATE TABLE kept (n UInt64) ENGINE = MergeTree ORDER BY n", {}, {})
database.command("CREATE TABLE sent (n UInt64) ENGINE = Null", {}, {})
database.command("CREATE MATERIALIZED VIEW slow TO kept AS SELECT n + sleepEachRow(0.01) AS n FROM sent", {}, {})
def stop():
    while True:
        time.sleep(0.05)
        database.command("KILL QUERY WHERE query LIKE 'INSERT INTO sent%' ASYNC", {}, {})
threading.Thread(target=stop, daemon=True).start()
try:
    database.insert("sent", "CSV", {"function_sleep_max_microseconds_per_block": "100000000"}, b"1\\n" * 1000)
except RuntimeError as error:
    print(str(error).rpartition("(")[2].strip(" )\\n"))
print(database.query("SELECT count() FROM kept", {}).decode().partition('[["')[2].partition('"')[0] or 0, flush=True)
import os; os._exit(0)
"""


def test_a_merge_that_could_not_write_is_taken_back(tmp_path: Path) -> None:
    engine = EmbeddedEngine(with_tables(tmp_path), "walltime")
    with closing(engine):
        store = Store(engine)
        for number in range(3):
            store.insert("spans", f"part {number}")
        before = store.rows()
        with files_cannot_be_written(engine, 3_000), pytest.raises(EngineError):
            engine.command("OPTIMIZE TABLE transactions FINAL")
        eventually(lambda: answers(engine))
        assert store.rows() == before
        assert engine.query("SELECT count(attributes) AS n, sum(mysql_query_calls) AS calls FROM transactions") == [
            {"n": 9, "calls": 18}
        ]
        store.insert("spans", "part 1")
        assert store.rows() == before
        health = Health()
        DamagedParts(engine, health.damaged).look()
        assert health.report()["ok"], "what was damaged is stored again, and nothing of it is left"


@pytest.mark.nightly
def test_tables_are_not_made_on_a_full_disk_and_are_when_there_is_space(tmp_path: Path) -> None:
    """Their descriptions would be cut short, and the database would not open any more."""
    with (
        small_disk(tmp_path / "disk", 64 * 1024 * 1024) as disk,
        closing(EmbeddedEngine(disk / "data", "walltime")) as engine,
    ):
        eventually(lambda: answers(engine))
        with filled(disk, 64 * 1024), pytest.raises(EngineUnavailable, match="the disk is full"):
            engine.migrate()
        engine.migrate()
        Store(engine).insert("spans", "after")
