"""The collector or its database killed, ended or stopped under load: nothing is lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from walltime_collector.clickhouse.opening import open_engine
from walltime_collector.config.settings import Settings

from tests.faults.oracle import Oracle, Verdict, wait_until_loaded
from tests.servers import Collector
from tests.slowness import stretched

SEED = 20261121
# small segments, so that the kills meet inserts, seals and acknowledgements as well as appends
SMALL = {"segment_bytes": 200_000, "segment_age_s": 0.3}
PLACES = ("after_write", "after_fsync", "before_answer", "after_insert", "after_acknowledge")


@contextmanager
def under_load(folder: Path, collector: Collector, senders: int = 3, pause_s: float = 0.0) -> Iterator[Oracle]:
    """Senders that go on whatever happens, until the block ends."""
    oracle = Oracle(SEED, folder)
    oracle.point_at(collector)
    oracle.start(senders, pause_s)
    try:
        yield oracle
    finally:
        oracle.stop()


def judge(oracle: Oracle, collector: Collector) -> Verdict:
    """Ends the collector and looks into its database."""
    oracle.stop()
    with collector:  # also when it is not well: a collector left behind is a warning in the tests to come
        oracle.point_at(collector)
        assert oracle.send_one() == 200
        wait_until_loaded(collector)
        assert collector.stop() == 0
    engine = open_engine(Settings(data=collector.directory))
    try:
        return oracle.judge(engine)
    finally:
        engine.close()


def kill_and_start(folder: Path, kills: int, longest_s: float, aimed: int, pause_s: float = 0.0) -> None:
    chance = random.Random(SEED)
    data = folder / "data"
    collector = Collector(data, **SMALL)
    slowest_s = 0.0
    with under_load(folder, collector, pause_s=pause_s) as oracle:
        for kill in range(kills):
            if kill < aimed:  # its crashpoint ends it, unless there was too little load
                deadline_s = time.monotonic() + 10
                while collector.process.poll() is None and time.monotonic() < deadline_s:
                    time.sleep(0.01)
            else:
                time.sleep(chance.uniform(0.05, longest_s))
            collector.kill()
            aim = f"{PLACES[kill % len(PLACES)]}:{chance.randint(1, 9)}" if kill + 1 < aimed else ""
            started_s = time.monotonic()
            collector = Collector(data, crashpoint=aim, **SMALL)
            slowest_s = max(slowest_s, time.monotonic() - started_s)
            oracle.point_at(collector)
        time.sleep(0.3)
    verdict = judge(oracle, collector)
    print(f"\n{kills} kills, {aimed} of them aimed; {verdict}; slowest start {slowest_s:.1f} s (seed {SEED})")
    assert verdict.is_clean, verdict
    assert verdict.acknowledged > 2 * kills  # more than a thousand, where the machine has nothing else to do


def test_what_was_acknowledged_is_stored_once_after_two_kills(tmp_path: Path) -> None:
    kill_and_start(tmp_path, kills=2, longest_s=1.0, aimed=0, pause_s=0.02)


@pytest.mark.nightly
@pytest.mark.timeout(2400)
def test_what_was_acknowledged_is_stored_once_after_a_hundred_kills(tmp_path: Path) -> None:
    """Half of the kills at the places where it hurts most."""
    kill_and_start(tmp_path, kills=100, longest_s=3.0, aimed=50)


@pytest.mark.nightly
@pytest.mark.timeout(2400)
def test_a_hundred_kills_of_the_database_alone_lose_nothing(tmp_path: Path) -> None:
    """The database's own process, while it inserts and merges; the collector goes on receiving."""
    chance = random.Random(SEED)
    with (
        Collector(tmp_path / "data", **SMALL) as collector,
        under_load(tmp_path, collector, senders=2, pause_s=0.02) as oracle,
    ):
        for _ in range(100):
            time.sleep(chance.uniform(0.05, 2))
            for child in children(collector.process.pid):
                os.kill(child, signal.SIGKILL)
        assert collector.process.poll() is None
        assert oracle.refused == {}
        verdict = judge(oracle, collector)
    print(f"\n100 kills of the database; {verdict} (seed {SEED})")
    assert verdict.is_clean, verdict


def end_and_start(folder: Path, times: int, pause_s: float = 0.0) -> None:
    chance = random.Random(SEED)
    collector = Collector(folder / "data", **SMALL)
    slowest_s = 0.0
    with under_load(folder, collector, pause_s=pause_s) as oracle:
        for _ in range(times):
            time.sleep(chance.uniform(0.2, 1))
            started_s = time.monotonic()
            assert collector.stop() == 0
            slowest_s = max(slowest_s, time.monotonic() - started_s)
            collector = Collector(folder / "data", **SMALL)
            oracle.point_at(collector)
    verdict = judge(oracle, collector)
    print(f"\n{times} ends; {verdict}; the slowest took {slowest_s:.1f} s; refused {oracle.refused} (seed {SEED})")
    assert verdict.is_clean, verdict
    assert slowest_s < stretched(20)  # 3 s for requests that run, 5 s to drain, and a machine that has more to do
    assert set(oracle.refused) <= {503}


@pytest.mark.nightly
def test_an_end_under_load_loses_nothing(tmp_path: Path) -> None:
    end_and_start(tmp_path, 1, pause_s=0.02)


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_twenty_ends_under_load_lose_nothing(tmp_path: Path) -> None:
    end_and_start(tmp_path, 20)


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("who", ["collector", "database"])
def test_a_minute_stopped_is_no_reason_to_lose_or_double(tmp_path: Path, who: str) -> None:
    """SIGSTOP, 60 s, SIGCONT."""
    with (
        Collector(tmp_path / "data", **SMALL) as collector,
        under_load(tmp_path, collector, senders=2, pause_s=0.02) as oracle,
    ):
        time.sleep(2)
        stopped = [collector.process.pid] if who == "collector" else children(collector.process.pid)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(60)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        time.sleep(2)
        verdict = judge(oracle, collector)
        print(f"\n{who} stopped for 60 s; {verdict}; refused {oracle.refused} (seed {SEED})")
    assert verdict.is_clean, verdict
    assert oracle.refused == {}


def children(pid: int) -> list[int]:
    """The processes that a process started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] or [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
