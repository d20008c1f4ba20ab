"""Entries on their way to the engine: one that it refuses costs no other, and a log may have two names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import EngineUnavailable, InsertRefused
from walltime_collector.health.counters import Health
from walltime_collector.observe.slowlog.reader import FollowedLog, SlowLogReader

from tests.collector.observe.slowlog.numbered_log import Log


class Picky:
    """The real engine, which also refuses statements that it is told, and may lose an answer."""

    def __init__(self, engine: Engine, poison: bytes) -> None:
        self.engine, self.poison = engine, poison
        self.tries = 0
        self.lose_answer_of = 0

    def insert_rows(self, table: str, rows: bytes, token: str) -> None:
        self.tries += 1
        if self.poison in rows:
            raise InsertRefused("Code: 27. it has poison in it")
        self.engine.insert_rows(table, rows, token)
        if self.tries == self.lose_answer_of:
            raise EngineUnavailable("the answer is lost")


def positions(engine: Engine, server: str) -> list[int]:
    sql = "SELECT position FROM slow_queries WHERE server = {server:String} ORDER BY position"
    return [int(row["position"]) for row in engine.query(sql, {"server": server})]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = Log(tmp_path / "slow.log")
    log.write(20)
    yield log
    log.file.close()


@pytest.mark.parametrize("lose_answer_of", [0, 4, 6])
def test_an_entry_that_the_engine_refuses_is_kept_and_the_others_are_stored_once(
    engine: Engine, tmp_path: Path, log: Log, lose_answer_of: int
) -> None:
    health, server = Health(), f"refused {lose_answer_of}"
    (tmp_path / "journal").mkdir()
    followed = FollowedLog(log.path, server, tmp_path / "journal", health)
    poison = b'"connection_id":7,'
    picky = Picky(engine, poison)
    picky.lose_answer_of = lose_answer_of
    log.write()
    for _ in range(4):
        with suppress(EngineUnavailable):
            followed.step(picky)  # type: ignore[arg-type]
    followed.close()
    stored = positions(engine, server)
    assert len(stored) == len(set(stored)) == 20
    counts = health.report()["counts"]
    assert (counts["slow_log_entries"], counts["slow_log_refused"]) == (20, 1)
    (kept,) = (tmp_path / "journal" / "dead").iterdir()
    (row,) = kept.read_bytes().splitlines()
    assert json.loads(row)["connection_id"] == 7


def test_refused_entries_are_counted_when_there_is_no_room_to_keep_them(
    engine: Engine, tmp_path: Path, log: Log, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("walltime_collector.observe.slowlog.storing._MAX_DEAD_BYTES", 10)
    health = Health()
    (tmp_path / "journal").mkdir()
    followed = FollowedLog(log.path, "no room", tmp_path / "journal", health)
    log.write()
    for _ in range(2):
        followed.step(Picky(engine, b'"connection_id":7,'))  # type: ignore[arg-type]
    followed.close()
    assert health.report()["counts"]["slow_log_refused"] == 1
    assert "lost, because" in caplog.text


def test_a_log_with_two_names_is_stored_under_both_also_after_a_restart(
    engine: Engine, tmp_path: Path, log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"{name}={log.path}" for name in ("one", "other", "one")]
    for _ in range(3):
        reader = SlowLogReader(names, tmp_path / "journal", engine, Health(), 10.0)
        for _ in range(4):
            reader.step()
        for each in reader._logs:
            each.close()
        log.write(5)
    assert f"{log.path}: it has two names in slow_log" in caplog.text
    for server in ("one", "other"):
        stored = positions(engine, server)
        assert len(stored) == len(set(stored)) >= 29
