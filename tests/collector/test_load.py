"""The loader between a real spool and a real engine, with the faults that an engine in between can add."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from walltime_collector.engine import Engine
from walltime_collector.errors import EngineUnavailable, InsertRefused
from walltime_collector.health import Health
from walltime_collector.load import Loader
from walltime_collector.spool.segment import Record
from walltime_collector.spool.spool import Spool

from tests.collector.test_schema import request, span
from tests.servers import eventually

GARBAGE = b"\x0a\x05\x12\x03\x12\x7f\x00"


def record(spans: int = 1) -> Record:
    return Record(time.time_ns(), spans, request(*[span() for _ in range(spans)]).SerializeToString())


class Faulty:
    """The real engine behind a line on which things happen."""

    def __init__(self, engine: Engine, faults: Sequence[str]) -> None:
        self.engine, self.faults = engine, list(faults)
        self.inserts = 0

    def insert(self, records: Sequence[Record], token: str) -> None:
        self.inserts += 1
        fault = self.faults.pop(0) if self.faults else "none"
        if fault == "refuse before":
            raise EngineUnavailable("connection refused")
        if fault == "unknown":
            raise ZeroDivisionError("nobody thought of this")
        self.engine.insert(records, token)
        if fault == "lose the answer":
            raise EngineUnavailable("connection reset after the commit")

    def __getattr__(self, verb: str) -> Any:
        return getattr(self.engine, verb)


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    spool = Spool(tmp_path / "spool", max_bytes=2**30, segment_bytes=2**20, segment_age_s=0.01)
    yield spool
    spool.close()


@pytest.fixture
def count(engine: Engine) -> Callable[[], int]:
    """Spans stored since the test began."""

    def stored() -> int:
        return int(engine.query("SELECT count() AS n FROM spans")[0]["n"])

    before = stored()
    return lambda: stored() - before


def load(spool: Spool, engine: Engine, faults: Sequence[str] = ()) -> Health:
    """Load all that is spooled, as found at a start."""
    health = Health()
    spool.seal()
    loader = Loader(spool, cast(Engine, Faulty(engine, faults)), health)
    loader.start()
    eventually(lambda: not spool.sealed(), 30)
    loader.stop(1)
    return health


@pytest.mark.parametrize("fault", ["refuse before", "lose the answer", "unknown"])
def test_an_insert_is_tried_until_it_succeeds_and_stored_once(
    spool: Spool, engine: Engine, count: Callable[[], int], fault: str
) -> None:
    spool.append([record(3), record(4)])
    health = load(spool, engine, [fault] * 3).report()
    assert count() == 7
    assert health["spans"] == {"received": 7, "stored": 7, "rejected": 0, "spooled": 0, "dead": 0, "lost": 0}
    assert health["counts"]["load_retries"] == 3
    assert health["ok"] is True


def test_a_request_that_the_database_refuses_is_put_aside_alone(
    spool: Spool, engine: Engine, count: Callable[[], int]
) -> None:
    spool.append([record(2) for _ in range(20)] + [Record(1, 5, GARBAGE)] + [record(2) for _ in range(20)])
    spool.seal()
    spool.append([record(1)])
    health = load(spool, engine).report()
    assert count() == 81
    assert health["spans"] == {"received": 86, "stored": 81, "rejected": 0, "spooled": 0, "dead": 5, "lost": 0}
    (letter,) = (spool.directory / "dead").iterdir()
    assert GARBAGE in letter.read_bytes()


def test_losing_the_answer_in_the_middle_of_the_search_doubles_nothing(
    spool: Spool, engine: Engine, count: Callable[[], int]
) -> None:
    spool.append([record(), record(), Record(1, 1, GARBAGE), record(), record()])
    health = load(spool, engine, ["none", "lose the answer", "none", "refuse before", "none", "lose the answer"])
    assert count() == 4
    assert health.report()["spans"] == {"received": 5, "stored": 4, "rejected": 0, "spooled": 0, "dead": 1, "lost": 0}
    assert len(list((spool.directory / "dead").iterdir())) == 1


def test_a_dead_letter_that_is_moved_back_is_loaded_again(
    spool: Spool, engine: Engine, count: Callable[[], int]
) -> None:
    spool.append([record(2)])
    spool.seal()
    segment = spool.sealed()[0]
    assert spool.dead_letter(segment, spool.read(segment).records, 0)
    spool.acknowledge(segment)
    directory = spool.directory
    spool.close()
    (letter,) = (directory / "dead").iterdir()
    letter.rename(directory / letter.name)
    again = Spool(directory, max_bytes=2**30, segment_bytes=2**20, segment_age_s=1)
    load(again, engine)
    assert count() == 2
    again.close()


def test_while_the_engine_is_away_nothing_is_forgotten_and_health_says_so(spool: Spool, engine: Engine) -> None:
    health = Health()
    loader = Loader(spool, cast(Engine, Faulty(engine, ["refuse before"] * 1000)), health)
    spool.append([record()])
    loader.start()
    eventually(lambda: health.report()["counts"].get("load_retries", 0) >= 2)
    assert health.report()["ok"] is False
    assert "connection refused" in health.report()["error"]
    loader.stop(0.1)
    assert len(spool.sealed()) == 1


def test_a_bad_request_alone_does_not_stop_the_others(engine: Engine) -> None:
    with pytest.raises(InsertRefused):
        engine.insert([Record(1, 1, GARBAGE)], "load/garbage")
    engine.insert([record()], "load/good")
