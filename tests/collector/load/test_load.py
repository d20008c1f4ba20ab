"""The loader with a real spool and a real engine, and with faults between them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import EngineEnded, EngineFull, EngineHung, EngineUnavailable, InsertRefused
from walltime_collector.health.counters import Health
from walltime_collector.load.loader import Loader
from walltime_collector.spool.segment import Record
from walltime_collector.spool.spool import Spool

from tests.collector.clickhouse.spans import request, span
from tests.collector.load.garbage import GARBAGE
from tests.servers import eventually


def record(spans: int = 1) -> Record:
    return Record(time.time_ns(), spans, request(*[span() for _ in range(spans)]).SerializeToString())


class Faulty:
    """The real engine behind a connection with faults."""

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


class Small:
    """Takes the place of an engine without memory for more than so many bytes in one INSERT."""

    def __init__(self, most_bytes: int, error: type[EngineUnavailable]) -> None:
        self.most_bytes, self.error = most_bytes, error
        self.stored: dict[str, list[bytes]] = {}
        self.failures = 0

    def migrate(self) -> None:
        """There is nothing to migrate."""

    def insert(self, records: Sequence[Record], token: str) -> None:
        if sum(len(record.payload) for record in records) > self.most_bytes:
            self.failures += 1
            raise self.error("no memory")
        self.stored.setdefault(token, [bytes(record.payload) for record in records])

    def payloads(self) -> list[bytes]:
        return sorted(payload for part in self.stored.values() for payload in part)


class Picky:
    """Takes the place of an engine: refuses records that contain the poison, and keeps the others with their tokens."""

    def __init__(self, poison: bytes) -> None:
        self.poison, self.is_away = poison, False
        self.is_away_for = b""
        self.tried = self.refused = 0
        self.stored: list[bytes] = []
        self.tokens: list[str] = []
        self.times: list[list[int]] = []

    def migrate(self) -> None:
        """There is nothing to migrate."""

    def insert(self, records: Sequence[Record], token: str) -> None:
        if self.is_away:
            raise EngineUnavailable("away")
        if self.is_away_for and any(self.is_away_for in bytes(record.payload) for record in records):
            raise EngineUnavailable("ended by it")
        self.tried += 1
        if any(self.poison in bytes(record.payload) for record in records):
            self.refused += 1
            raise InsertRefused("it has poison in it")
        self.stored += [bytes(record.payload) for record in records]
        self.tokens.append(token)
        self.times.append([record.received_at_ns for record in records])


@pytest.fixture
def count(engine: Engine) -> Callable[[], int]:
    """Spans stored since the test began."""

    def stored() -> int:
        return int(engine.query("SELECT count() AS n FROM spans")[0]["n"])

    before = stored()
    return lambda: stored() - before


def load(spool: Spool, engine: Engine, faults: Sequence[str] = ()) -> Health:
    """Load everything in the spool, as after a start."""
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
    (letter,) = (spool.directory / "dead").glob("*.segment")
    assert GARBAGE in letter.read_bytes()


def test_losing_the_answer_in_the_middle_of_the_search_doubles_nothing(
    spool: Spool, engine: Engine, count: Callable[[], int]
) -> None:
    spool.append([record(), record(), Record(1, 1, GARBAGE), record(), record()])
    faults = ["none", "lose the answer", "none", "refuse before", "none", "unknown", "none", "none", "lose the answer"]
    health = load(spool, engine, faults)
    assert count() == 4
    assert health.report()["spans"] == {"received": 5, "stored": 4, "rejected": 0, "spooled": 0, "dead": 1, "lost": 0}
    assert len(spool.dead_letters()) == 1


def test_a_dead_letter_that_is_retried_is_loaded_again(spool: Spool, engine: Engine, count: Callable[[], int]) -> None:
    spool.append([record(2)])
    spool.seal()
    segment = spool.sealed()[0]
    assert spool.dead_letter(segment, spool.read(segment).records, 0, "a code of yesterday")
    spool.acknowledge(segment)
    (letter,) = spool.dead_letters()
    assert (letter.spans, letter.reason) == (2, "a code of yesterday")
    assert spool.retry(letter.name) == letter
    assert spool.dead_letters() == []
    assert not any((spool.directory / "dead").iterdir())
    load(spool, engine)
    assert count() == 2


def test_received_spans_are_accounted_for_after_a_restart_with_spooled_and_dead_ones(
    spool: Spool, engine: Engine, count: Callable[[], int]
) -> None:
    """received = stored + rejected + spooled + dead + lost; a restart counts the spans on disk as received."""
    spool.append([record(2), Record(time.time_ns(), 3, GARBAGE)])
    load(spool, engine)
    spool.append([record(5)])
    spool.close()
    again = Spool(spool.directory, max_bytes=2**30, segment_bytes=2**20, segment_age_s=0.01)
    away = Faulty(engine, ["refuse before"] * 1000)
    health = Health()
    loader = Loader(again, cast(Engine, away), health)
    loader.start()
    eventually(lambda: health.report()["counts"].get("load_retries", 0) >= 1)
    assert health.report()["spans"] == {"received": 8, "stored": 0, "rejected": 0, "spooled": 5, "dead": 3, "lost": 0}
    away.faults.clear()
    eventually(lambda: not again.sealed())
    loader.stop(1)
    assert health.report()["spans"] == {"received": 8, "stored": 5, "rejected": 0, "spooled": 0, "dead": 3, "lost": 0}
    assert count() == 7
    again.close()


@pytest.mark.parametrize("poisoned", [0, 1, 2047, 3333, 4999])
def test_a_refused_record_among_5000_is_found_after_log2_n_refusals(spool: Spool, poisoned: int) -> None:
    engine = Picky(b"poison")
    spool.append([Record(1, 1, b"poison" if at == poisoned else b"%d" % at) for at in range(5_000)])
    spool.seal()
    spool.append([Record(1, 1, b"behind it")])
    health = load(spool, cast(Engine, engine)).report()
    assert sorted(engine.stored) == sorted([b"behind it", *(b"%d" % at for at in range(5_000) if at != poisoned)])
    assert health["spans"]["dead"] == 1
    assert spool.dead_letters()[0].reason == "it has poison in it"
    most = math.ceil(math.log2(5_000)) + 1
    print(f"poison {poisoned} of 5,000: {engine.refused} refusals of {most}, {engine.tried} inserts")
    assert engine.refused <= most
    assert engine.tried <= 2 * most


def test_refused_records_are_counted_as_lost_when_dead_is_full(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("walltime_collector.spool.dead_letters.MAX_BYTES", 5 * 8192)
    engine = Picky(b"poison")
    spool.append([Record(1, 2, b"poison %d" % at) for at in range(8)] + [Record(1, 1, b"good")])
    report = load(spool, cast(Engine, engine)).report()
    assert engine.stored == [b"good"]
    assert report["spans"] == {"received": 17, "stored": 1, "rejected": 0, "spooled": 0, "dead": 10, "lost": 6}
    assert len(spool.dead_letters()) == 5


def test_records_received_more_than_a_day_apart_are_inserted_separately(spool: Spool) -> None:
    """Starts are clamped to 29 days before and a day after receipt, so a day of receipts touches 32 days."""
    engine, day_ns = Picky(b"poison"), 24 * 3600 * 10**9
    jumps = [0, 1, day_ns, 2 * day_ns, 2 * day_ns + 1, -3650 * day_ns, 3650 * day_ns, 3650 * day_ns, 0]
    received = [2_000_000_000 * 10**9 + jump for jump in jumps]
    spool.append([Record(at, 1, b"%d" % number) for number, at in enumerate(received)])
    load(spool, cast(Engine, engine))
    assert sorted(engine.stored) == [b"%d" % number for number in range(len(received))]
    assert max(max(times) - min(times) for times in engine.times) <= day_ns
    assert len(set(engine.tokens)) == len(engine.tokens) == 5


def test_while_the_engine_is_away_segments_fill_up(spool: Spool) -> None:
    """An hour's outage is a few full segments and not 3,600 small ones."""
    engine = Picky(b"poison")
    engine.is_away = True
    loader = Loader(spool, cast(Engine, engine), Health())
    loader.start()
    for _ in range(50):
        spool.append([Record(1, 1, bytes(50_000))])
        time.sleep(0.012)  # longer than the age of a segment
    sizes = [segment.size_bytes for segment in spool.sealed()]
    assert len(sizes) == 3
    assert all(size >= 2**20 for size in sizes[1:])
    engine.is_away = False
    eventually(lambda: len(engine.stored) == 50)
    loader.stop(1)


def test_a_segment_that_cannot_be_stored_lets_others_go_first_and_goes_to_dead(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that ends the database each time, or takes all its memory, is no outage: other segments are stored."""
    monkeypatch.setattr("walltime_collector.load.loader._FIRST_RETRY_S", 0.001)
    monkeypatch.setattr("walltime_collector.load.loader._LAST_RETRY_S", 0.002)
    engine = Picky(b"poison")
    engine.is_away_for = b"killer"
    for each in (b"killer", b"good"):
        spool.append([Record(1, 2, each)])
        spool.seal()
    killer = spool.sealed()[0]
    health = Health()
    loader = Loader(spool, cast(Engine, engine), health)
    loader.start()
    eventually(lambda: engine.stored == [b"good"])
    time.sleep(0.1)  # no other segment is stored now, so the failure may be the database's
    assert spool.sealed() == [killer]
    for number in range(20):
        spool.append([Record(1, 2, b"%d" % number)])
        eventually(lambda number=number: b"%d" % number in engine.stored)  # type: ignore[misc]
    eventually(lambda: spool.sealed() == [])
    (letter,) = spool.dead_letters()
    assert (letter.name, letter.spans, letter.reason) == (killer.name, 2, "ended by it")
    assert health.report()["spans"]["dead"] == 2
    engine.is_away_for = b""
    assert spool.retry(letter.name)
    eventually(lambda: b"killer" in engine.stored)
    loader.stop(1)
    assert engine.tokens[-1] == killer.name


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("walltime_collector.load.loader._FIRST_RETRY_S", 0.001)
    monkeypatch.setattr("walltime_collector.load.loader._LAST_RETRY_S", 0.001)


@pytest.mark.parametrize("error", [EngineFull, EngineEnded, EngineHung])
@pytest.mark.usefixtures("quick")
def test_a_segment_that_is_too_large_for_the_databases_memory_is_stored_in_parts(
    spool: Spool, error: type[EngineUnavailable]
) -> None:
    engine = Small(250_000, error)
    records = [Record(1, 1, b"%03d" % at + bytes(50_000)) for at in range(21)]
    spool.append(records)
    health = load(spool, cast(Engine, engine)).report()
    assert engine.payloads() == [record.payload for record in records]
    assert health["spans"] == {"received": 21, "stored": 21, "rejected": 0, "spooled": 0, "dead": 0, "lost": 0}
    print(f"{engine.failures} failures, {len(engine.stored)} INSERTs that succeeded")
    assert engine.failures <= 3 * 2 * 7


@pytest.mark.usefixtures("quick")
def test_a_segment_in_parts_is_stored_once_when_there_is_more_memory_after_a_restart(spool: Spool) -> None:
    engine = Small(250_000, EngineFull)
    insert = engine.insert

    def first_part_only(records: Sequence[Record], token: str) -> None:
        if engine.stored:
            raise EngineUnavailable("away")
        insert(records, token)

    engine.insert = first_part_only  # type: ignore[method-assign]
    records = [Record(1, 1, b"%03d" % at + bytes(50_000)) for at in range(8)]
    spool.append(records)
    spool.seal()
    loader = Loader(spool, cast(Engine, engine), Health())
    loader.start()
    eventually(lambda: engine.stored)
    loader.stop(0)
    engine.insert, engine.most_bytes = insert, 2**30  # type: ignore[method-assign]
    load(spool, cast(Engine, engine))
    assert engine.payloads() == [record.payload for record in records]
    assert [each.name for each in spool.directory.iterdir() if each.is_file()] == ["lock"]


@pytest.mark.usefixtures("quick")
def test_a_record_that_is_too_large_for_the_database_goes_to_dead_alone_while_others_are_stored(spool: Spool) -> None:
    engine = Small(250_000, EngineFull)
    records = [Record(1, 1, b"%03d" % at + bytes(300_000 if at == 2 else 50_000)) for at in range(5)]
    spool.append(records)
    spool.seal()
    health = Health()
    loader = Loader(spool, cast(Engine, engine), health)
    loader.start()
    others = 0
    while not spool.dead_letters():  # it may be the database's fault until others are stored
        spool.append([Record(1, 1, b"other")])
        others += 1
        time.sleep(0.01)
    eventually(lambda: not spool.sealed())
    loader.stop(1)
    report = health.report()["spans"]
    assert [payload for payload in engine.payloads() if payload != b"other"] == [
        record.payload for at, record in enumerate(records) if at != 2
    ]
    assert (report["dead"], report["lost"], report["stored"]) == (1, 0, others + 4)


def test_an_old_segment_of_many_mebibytes_is_loaded_in_parts_with_tokens_of_their_own(spool: Spool) -> None:
    engine = Picky(b"poison")
    spool.append([Record(1, 1, b"%03d" % at + bytes(9 * 2**20)) for at in range(8)] + [Record(1, 1, bytes(30 * 2**20))])
    load(spool, cast(Engine, engine))
    assert [int(each[:3]) for each in engine.stored[:8]] == list(range(8))
    assert [sum(times) for times in engine.times] == [2, 2, 2, 2, 1]
    assert len(set(engine.tokens)) == 5


def test_segments_with_refused_records_delay_no_other(spool: Spool) -> None:
    """What arrives during the search for them is stored first."""
    engine = Picky(b"poison")
    for _ in range(3):
        spool.append([Record(1, 1, b"poison %d" % at) for at in range(16)])
        spool.seal()
    insert, arrived, waited = engine.insert, dict[bytes, int](), list[int]()
    searches = 0

    def insert_and_receive(records: Sequence[Record], token: str) -> None:
        nonlocal searches
        waited.extend(searches - arrived[bytes(each.payload)] for each in records if bytes(each.payload) in arrived)
        searches += b"poison" in bytes(records[0].payload)
        if len(arrived) < 20 and engine.refused > 3:  # while it searches, one more before each INSERT
            arrived[good := b"good %d" % len(arrived)] = searches
            spool.append([Record(1, 1, good)])
            spool.seal()
        insert(records, token)

    engine.insert = insert_and_receive  # type: ignore[method-assign]
    report = load(spool, cast(Engine, engine)).report()["spans"]
    assert len(arrived) == 20
    assert sorted(engine.stored) == sorted(arrived)
    assert max(waited) <= 1, "more than one INSERT of the search came before one of them"
    assert report["dead"] == 3 * 16


@pytest.mark.usefixtures("quick")
def test_what_cannot_be_stored_waits_longer_each_time_that_others_were(spool: Spool) -> None:
    """Its reason stays visible; the folder of dead letters has no room for it."""
    engine = Picky(b"poison")
    engine.is_away_for = b"killer"
    spool.append([Record(1, 2, b"killer")])
    spool.seal()
    spool.bury = lambda *_: False  # type: ignore[method-assign]
    health, tries = Health(), []
    insert = engine.insert

    def insert_and_note(records: Sequence[Record], token: str) -> None:
        tries.append(bytes(records[0].payload) == b"killer")
        insert(records, token)

    engine.insert = insert_and_note  # type: ignore[method-assign]
    loader = Loader(spool, cast(Engine, engine), health)
    loader.start()
    for at in range(60):
        spool.append([Record(1, 1, b"%d" % at)])
        eventually(lambda at=at: b"%d" % at in engine.stored)  # type: ignore[misc]
    assert "ended by it" in health.report()["error"]
    loader.stop(0)
    assert len(spool.sealed()) == 1
    print(f"{sum(tries[:30])} of the first 30 tries, {sum(tries[-30:])} of the last 30")
    assert sum(tries[-30:]) < sum(tries[:30])


def test_a_file_that_is_removed_or_unreadable_does_not_delay_the_others(spool: Spool) -> None:
    engine = Picky(b"poison")
    for each in (b"gone", b"unreadable", b"good"):
        spool.append([Record(1, 2, each)])
        spool.seal()
    gone, unreadable, _ = (segment.path for segment in spool.sealed())
    gone.unlink()
    unreadable.unlink()
    unreadable.mkdir()
    health = Health()
    loader = Loader(spool, cast(Engine, engine), health)
    loader.start()
    eventually(lambda: engine.stored == [b"good"])
    report = health.report()
    assert report["spans"]["lost"] == 2
    assert unreadable.name in report["error"]
    assert report["ok"] is False
    loader.stop(0)
    assert [segment.path for segment in spool.sealed()] == [unreadable]
    unreadable.rmdir()


def test_while_the_engine_is_away_segments_stay_and_health_is_not_ok(spool: Spool, engine: Engine) -> None:
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
