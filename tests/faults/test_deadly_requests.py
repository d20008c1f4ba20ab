"""Requests that end the database's process: each goes to dead/ alone, the records around it are stored once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from walltime_collector import crashpoint
from walltime_collector.clickhouse.embedded import child
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.errors import EngineEnded
from walltime_collector.health.counters import Health
from walltime_collector.load.loader import Loader
from walltime_collector.load.poison import Trial
from walltime_collector.spool.segment import Record
from walltime_collector.spool.spool import Spool

from tests.collector.clickhouse.spans import request, span
from tests.servers import Collector, eventually, over_http, with_tables

DEADLY = "dies of this"
GARBAGE = b"\x0a\x05\x12\x03\x12\x7f\x00"


def record(text: str = "harmless") -> Record:
    return Record(time.time_ns(), 2, request(span({"k": text}), span({"walltime.schema": 1})).SerializeToString())


@pytest.fixture
def mortal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedEngine]:
    monkeypatch.setattr(crashpoint, "armed", f"engine:{DEADLY}")
    monkeypatch.setattr(child, "_LAST_RETRY_S", 0.2)
    engine = EmbeddedEngine(with_tables(tmp_path / "chdb"), "walltime")
    engine.migrate()
    yield engine
    engine.close()


def stored(engine: EmbeddedEngine) -> tuple[int, int]:
    """The stored spans and transactions; none is stored twice."""
    counts = []
    for table in ("spans", "transactions"):
        sql = "SELECT count() AS n, uniqExact(span_id) AS different FROM {table:Identifier}"
        (row,) = engine.query(sql, {"table": table})
        assert row["n"] == row["different"]
        counts.append(int(row["n"]))
    return counts[0], counts[1]


def load(spool: Spool, engine: EmbeddedEngine, trial: Trial) -> Health:
    health = Health()
    spool.seal()
    loader = Loader(spool, engine, health, trial=trial)
    loader.start()
    eventually(lambda: not spool.sealed(), 120)
    loader.stop(1)
    return health


@pytest.mark.nightly
@pytest.mark.timeout(180)
def test_two_deadly_requests_and_a_bad_one_are_put_aside_alone_and_the_others_are_stored_once(
    spool: Spool, mortal: EmbeddedEngine, tmp_path: Path
) -> None:
    whole = [record() for _ in range(5)]
    whole[0], whole[3], whole[2] = record(DEADLY), record(DEADLY), Record(time.time_ns(), 1, GARBAGE)
    spool.append(whole)
    health = load(spool, mortal, Trial(tmp_path / "trial")).report()
    assert health["spans"] == {"received": 9, "stored": 4, "rejected": 0, "spooled": 0, "dead": 5, "lost": 0}
    assert stored(mortal) == (2, 2)
    letters = spool.dead_letters()
    assert sorted((letter.name.rpartition("-")[2], letter.spans) for letter in letters) == [
        ("0", 2),
        ("2", 1),
        ("3", 2),
    ]
    assert sum("ends at every try" in letter.reason for letter in letters) == 2
    assert not (tmp_path / "trial").exists()


@pytest.mark.timeout(180)
@pytest.mark.nightly
def test_what_was_stored_before_the_process_ended_is_not_stored_again(
    spool: Spool, mortal: EmbeddedEngine, tmp_path: Path
) -> None:
    whole = [record(), record(DEADLY), record()]
    spool.append(whole)
    spool.seal()
    (segment,) = spool.sealed()
    harmless = [whole[0], whole[2]]
    mortal.insert(harmless, spool.read(segment).token)  # as if the process had stored these before it ended
    health = load(spool, mortal, Trial(tmp_path / "trial")).report()
    assert (health["spans"]["stored"], health["spans"]["dead"]) == (4, 2)
    assert stored(mortal) == (2, 2)


@pytest.mark.timeout(180)
@pytest.mark.nightly
def test_a_trial_returns_the_records_that_end_the_database_and_no_others(
    mortal: EmbeddedEngine, tmp_path: Path
) -> None:
    harmless = [record() for _ in range(3)]
    with pytest.raises(EngineEnded):
        mortal.insert([record(DEADLY)], "deadly")
    trial = Trial(tmp_path / "trial")
    (tmp_path / "trial").mkdir()
    (tmp_path / "trial" / "left by a collector that was killed").touch()
    assert trial.deadly(harmless) == []
    assert trial.deadly([*harmless, record(DEADLY)]) == [3]
    assert trial.deadly([record(DEADLY)]) == [0]
    assert stored(mortal) == (0, 0)


@pytest.mark.timeout(180)
@pytest.mark.nightly
def test_a_collector_goes_on_after_a_deadly_request_and_a_retry_of_it_ends_in_dead_again(tmp_path: Path) -> None:
    with Collector(tmp_path / "data", crashpoint=f"engine:{DEADLY}", segment_age_s=0.5) as collector:
        for _ in range(20):
            assert collector.send(bytes(record().payload)).status_code == 200
        assert collector.send(bytes(record(DEADLY).payload)).status_code == 200
        for _ in range(20):
            assert collector.send(bytes(record().payload)).status_code == 200
        eventually(lambda: collector.health()["spans"]["dead"] == 2, 90)
        eventually(lambda: collector.health()["spans"]["stored"] == 80, 30)
        assert collector.health()["counts"]["engine_restarts"] == 3
        (letter,) = over_http("GET", f"{collector.web_url}/api/deadletters").json()["letters"]
        assert "ends at every try" in letter["reason"]
        over_http("POST", f"{collector.web_url}/api/deadletters/retry", json={"names": [letter["name"]]})
        eventually(lambda: collector.health()["counts"]["engine_restarts"] == 6, 60)
        eventually(lambda: collector.health()["spans"]["dead"] == 2, 60)
        assert collector.send(bytes(record().payload)).status_code == 200
        eventually(lambda: collector.health()["spans"]["stored"] == 82, 30)
