"""The embedded engine's process may end or hang, and receiving continues; the process never outlives its collector."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded import child
from walltime_collector.clickhouse.embedded import engine as embedded
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.errors import DirectoryInUse, EngineUnavailable, InsertRefused, SettingsRefused

from tests.collector.clickhouse.engine_processes import answers, engines_of, is_there
from tests.collector.clickhouse.two_engines import count, slow_rows, some_records
from tests.collector.traffic import Shop, export_request
from tests.servers import Collector, Program, eventually, with_tables

SECRET = "s3cret-of-the-collector"


def resident_bytes(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Own:
    """An engine of this process, its counters, and the process that it started."""

    def __init__(self, directory: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.before = set(engines_of(os.getpid()))
        self.engine = EmbeddedEngine(with_tables(directory), "walltime", lambda name: self.counts.update([name]))
        self.engine.migrate()

    @property
    def process(self) -> int:
        (process,) = set(engines_of(os.getpid())) - self.before
        return process


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    own = Own(tmp_path_factory.mktemp("engine"))
    yield own
    process = own.process
    own.engine.close()
    assert not is_there(process)


@pytest.fixture(autouse=True)
def every_life_is_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is started again soon, however often a test kills it."""
    monkeypatch.setattr(child, "_WELL_S", 0.0)


# The process ends


def test_an_engine_that_is_killed_is_started_again_and_has_its_data(own: Own, caplog: pytest.LogCaptureFixture) -> None:
    own.engine.insert(some_records(seed=41), "before")
    stored, restarts, first = count(own.engine), own.counts["engine_restarts"], own.process
    with long_query(own.engine):
        os.kill(first, signal.SIGKILL)
    with pytest.raises(DirectoryInUse, match=f"process {os.getpid()}"):  # also between two processes
        EmbeddedEngine(own.engine._directory, "walltime")
    eventually(lambda: answers(own.engine))
    assert count(own.engine) == stored > 0
    assert own.process != first
    assert own.counts["engine_restarts"] == restarts + 1
    assert [record.getMessage() for record in caplog.records if "SIGKILL" in record.getMessage()] == [
        f"{own.engine._directory}: the database ended (SIGKILL); it is started again until it runs"
    ]


@contextmanager
def long_query(engine: EmbeddedEngine) -> Iterator[None]:
    """A long query runs in this block, and fails because the engine ends."""
    failed: list[BaseException] = []

    def ask() -> None:
        with pytest.raises(EngineUnavailable, match="ended before it answered") as error:
            engine.read("SELECT sum(sipHash64(number)) FROM numbers(1000000000000)", "CSV", name="long", settings={})
        failed.append(error.value)

    thread = threading.Thread(target=ask)
    thread.start()
    running = "SELECT count() AS n FROM system.processes WHERE Settings['log_comment'] = 'long'"
    eventually(lambda: engine.query(running)[0]["n"])
    yield
    thread.join(60)
    assert failed


def test_an_insert_that_was_cut_off_is_stored_once_under_its_token(own: Own) -> None:
    records = some_records(seed=42, visits=800)
    before = count(own.engine)
    outcomes: list[str] = []

    def insert() -> None:
        while not outcomes or outcomes[-1] != "stored":
            try:
                own.engine.insert(records, "cut off")
                outcomes.append("stored")
            except EngineUnavailable as error:  # as the loader does
                outcomes.append(str(error))

    thread = threading.Thread(target=insert)
    thread.start()
    for _ in range(2):
        time.sleep(0.01)  # the INSERT may be sent, in the views, or stored and not yet acknowledged
        os.kill(own.process, signal.SIGKILL)
        eventually(lambda: answers(own.engine))
    thread.join(60)
    assert outcomes[-1] == "stored"
    assert all("insert cut off: " in each for each in outcomes[:-1])
    once = count(own.engine)
    own.engine.insert(records, "cut off")
    assert count(own.engine) == once > before


def test_refused_rows_raise_insert_refused_across_processes(own: Own) -> None:
    with pytest.raises(InsertRefused, match=r"insert bad: .*Code: "):
        own.engine.insert_rows("slow_log_entries", b"{no json\n", "bad")
    own.engine.insert_rows("slow_log_entries", slow_rows(3), "good")
    assert count(own.engine, "slow_queries") == 3


# The process hangs


def test_an_engine_that_hangs_is_killed_and_started_again(own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_GRACE_S", 0.5)
    stopped = own.process
    os.kill(stopped, signal.SIGSTOP)
    with pytest.raises(EngineUnavailable, match=r"did not answer within 0\.75 s; it is"):
        own.engine.read("SELECT 1", "CSV", name="stuck", settings={"max_execution_time": "0.25"})
    eventually(lambda: not is_there(stopped))
    eventually(lambda: answers(own.engine))
    assert own.process != stopped


def test_concurrent_queries_have_their_own_answers(own: Own) -> None:
    wrong: list[object] = []

    def ask(number: int) -> None:
        for at in range(20):
            value = number * 1000 + at
            answers = (
                own.engine.query("SELECT {n:UInt32} AS n", {"n": value})[0]["n"],
                int(own.engine.read(f"SELECT {value}", "CSV", name=f"{value}", settings={})),
            )
            wrong.extend(answer for answer in answers if answer != value)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


def test_an_engine_that_does_not_open_raises_why_and_opens_later(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    engine = EmbeddedEngine(tmp_path, "walltime")
    try:
        with pytest.raises(EngineUnavailable, match=f"{tmp_path}: the database does not open: "):
            engine.query("SELECT 1")
        (tmp_path / "data").unlink()
        eventually(lambda: answers(engine))
    finally:
        engine.close()


def test_a_path_with_a_question_mark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsRefused, match="no database can be in a path with a"):
        EmbeddedEngine(tmp_path / "data?mode=ro", "walltime")
    assert not list(tmp_path.iterdir())


# Beside a collector


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with Program(tmp_path_factory.mktemp("collector") / "data", **SETTINGS) as collector:
        yield collector


SETTINGS: dict[str, str | float] = {"clickhouse_http_token": SECRET, "segment_age_s": 0.2}


def requests(seed: int) -> bytes:
    return export_request(Shop(seed=seed).visit(time.time_ns() - 60_000_000_000))


def test_the_engine_runs_beside_the_collector_and_knows_none_of_its_secrets(collector: Collector) -> None:
    (engine,) = engines_of(collector.process.pid)
    environment = Path(f"/proc/{engine}/environ").read_text()
    assert SECRET not in environment
    assert "WALLTIME_" not in environment
    assert "WALLTIME_CLICKHOUSE_HTTP_TOKEN" in Path(f"/proc/{collector.process.pid}/environ").read_text()
    assert "chdb" not in Path(f"/proc/{collector.process.pid}/maps").read_text().replace(str(collector.directory), "")
    assert resident_bytes(collector.process.pid) < 256 * 1024 * 1024


def test_receiving_goes_on_while_the_engine_hangs_and_all_is_stored_when_it_does_not(collector: Collector) -> None:
    (engine,) = engines_of(collector.process.pid)
    os.kill(engine, signal.SIGSTOP)
    try:
        for seed in range(5):
            assert collector.send(requests(seed)).status_code == 200
        assert collector.health()["spans"]["spooled"] > 0
    finally:
        os.kill(engine, signal.SIGCONT)
    eventually(lambda: collector.health()["spans"]["spooled"] == 0)


def test_receiving_goes_on_when_the_engine_dies(collector: Collector) -> None:
    (engine,) = engines_of(collector.process.pid)
    os.kill(engine, signal.SIGKILL)
    assert collector.send(requests(11)).status_code == 200
    eventually(lambda: collector.health()["spans"]["spooled"] == 0)
    assert engines_of(collector.process.pid) not in ([], [engine])


def test_the_engine_ignores_signals_to_its_process_group(collector: Collector) -> None:
    (engine,) = engines_of(collector.process.pid)
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(engine, each)
    assert collector.send(requests(13)).status_code == 200
    eventually(lambda: collector.health()["spans"]["spooled"] == 0)
    assert engines_of(collector.process.pid) == [engine]


def test_the_engine_of_a_killed_collector_ends_even_if_it_hangs_and_the_next_collector_starts_at_once(
    collector: Collector,
) -> None:
    (engine,) = engines_of(collector.process.pid)
    os.kill(engine, signal.SIGSTOP)
    assert collector.send(requests(12)).status_code == 200
    collector.kill()
    with Collector(collector.directory, **SETTINGS) as again:
        assert not is_there(engine)
        eventually(lambda: again.health()["spans"]["spooled"] == 0)
        (engine,) = engines_of(again.process.pid)
        assert again.stop() == 0
    assert not is_there(engine)


def test_a_process_that_cannot_be_started_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = sys.executable
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    engine = EmbeddedEngine(tmp_path / "data", "walltime")
    try:
        with pytest.raises(EngineUnavailable, match=r"the database cannot be started: .*No such file"):
            engine.query("SELECT 1")
        monkeypatch.setattr(sys, "executable", program)
        eventually(lambda: answers(engine))
    finally:
        engine.close()
