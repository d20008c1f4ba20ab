"""The ClickHouse server is away, hangs or lies, for long; what was acknowledged is stored once."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from walltime_collector.clickhouse.server.engine import ServerEngine
from walltime_collector.errors import EngineUnavailable
from walltime_collector.spool.segment import Record

from tests.clickhouse_server import ClickHouseServer, Fault
from tests.faults.load import held
from tests.faults.oracle import SPANS, STORED, Oracle, body_of, wait_until_loaded
from tests.servers import Collector, eventually
from tests.slowness import stretched

pytestmark = pytest.mark.nightly
SEED = 20261121
MIB = 1024 * 1024
OUTAGE_S = int(os.environ.get("OUTAGE_S", "600"))
LOST_ANSWERS = int(os.environ.get("LOST_ANSWERS", "1000"))
SPANS_PER_S = 5_000
INSERT = "INSERT INTO otlp_traces"


@pytest.fixture
def clickhouse(tmp_path: Path) -> Iterator[ClickHouseServer]:
    with ClickHouseServer(tmp_path / "clickhouse") as server:
        yield server


def collector_on(server: ClickHouseServer, directory: Path, **settings: str | int | float) -> Collector:
    said: dict[str, str | int | float] = {"clickhouse_user": server.user, "clickhouse_password": server.password}
    return Collector(directory, clickhouse=server.url, **said, **settings)


def spool_bytes(collector: Collector) -> int:
    found = 0
    for path in (collector.directory / "spool").glob("*.segment"):
        try:
            found += path.stat().st_size
        except FileNotFoundError:  # just stored
            continue
    return found


@pytest.mark.timeout(3 * OUTAGE_S + 600)
def test_ten_minutes_without_the_server_lose_nothing_and_are_caught_up_quickly(
    tmp_path: Path, clickhouse: ClickHouseServer
) -> None:
    """5,000 spans a second all the time; the memory does not grow, and what waits is stored 3 times as fast."""
    with collector_on(clickhouse, tmp_path / "data") as collector:
        oracle = Oracle(SEED, tmp_path)
        oracle.point_at(collector)
        senders = 5
        oracle.start(senders, pause_s=senders * SPANS / SPANS_PER_S)
        time.sleep(10)
        clickhouse.kill()
        before_bytes, most_bytes = held([collector.process.pid]).rss_bytes, 0
        ends_s = time.monotonic() + OUTAGE_S
        while time.monotonic() < ends_s:
            time.sleep(1)
            most_bytes = max(most_bytes, held([collector.process.pid]).rss_bytes)
        waiting = collector.health()["spans"]["spooled"]
        files = len(list((collector.directory / "spool").glob("*.segment")))
        spooled_bytes = spool_bytes(collector)
        stored = collector.health()["spans"]["stored"]
        clickhouse.start()
        started_s = time.monotonic()
        fresh = oracle.next_id()
        assert collector.send(body_of(fresh)).status_code == 200
        oracle.answered(fresh, 200)
        with closing(clickhouse.engine()) as engine:
            seen = "SELECT count() AS n FROM transactions WHERE lower(hex(trace_id)) = {id:String}"
            eventually(lambda: engine.query(seen, {"id": fresh.hex()})[0]["n"] == 1, 600)
            seen_s = time.monotonic() - started_s
            draining_bytes = held([collector.process.pid]).rss_bytes
            eventually(lambda: collector.health()["spans"]["stored"] >= stored + waiting, 600)
            drained = waiting / (time.monotonic() - started_s)
            oracle.stop()
            wait_until_loaded(collector)
            verdict = oracle.judge(engine)
    print(
        f"\n{OUTAGE_S} s away: {waiting} spans in {files} files of {spooled_bytes / MIB:.0f} MiB waited; stored at "
        f"{drained:.0f} a second, beside {waiting / OUTAGE_S:.0f} new ones; the newest visible after {seen_s:.0f} s; "
        f"RSS {before_bytes / MIB:.0f} MiB, {most_bytes / MIB:.0f} at most while away, {draining_bytes / MIB:.0f} "
        f"while draining; refused {oracle.refused}; {verdict} (seed {SEED})"
    )
    assert verdict.is_clean, verdict
    assert oracle.refused == {}
    assert drained >= 3 * waiting / OUTAGE_S
    assert most_bytes - before_bytes <= 32 * MIB
    assert draining_bytes - before_bytes <= 32 * MIB + 2 * 20 * MIB  # a segment as it was read, and as it is sent
    assert files <= 3 + spooled_bytes / (20 * MIB)


@pytest.mark.timeout(600)
def test_an_outage_longer_than_the_spool_refuses_what_is_new_and_counts_it(
    tmp_path: Path, clickhouse: ClickHouseServer
) -> None:
    """The policy is to keep what was acknowledged and to refuse what comes, with 503: its sender still has it."""
    limit = 2 * MIB
    with collector_on(clickhouse, tmp_path / "data", max_spool_bytes=limit, segment_bytes=MIB // 2) as collector:
        clickhouse.kill()
        oracle = Oracle(SEED, tmp_path)
        oracle.point_at(collector)
        most_bytes = 0
        for _ in range(1_000):
            oracle.send_one()
            most_bytes = max(most_bytes, spool_bytes(collector))
        counted = collector.health()["counts"]["refused_spool_full"]
        clickhouse.start()
        wait_until_loaded(collector)
        assert oracle.send_one() == 200
        wait_until_loaded(collector)
        with closing(clickhouse.engine()) as engine:
            verdict = oracle.judge(engine)
    print(f"\nlimit {limit}, at most {most_bytes} on disk; refused {oracle.refused}, counted {counted}; {verdict}")
    assert verdict.is_clean, verdict
    assert oracle.refused == {503: counted}
    assert counted > 100
    assert most_bytes <= limit


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "fault",
    [
        Fault(INSERT, run=True, then="reset"),
        Fault(INSERT, run=True, then="error"),
        Fault(INSERT, run=True, delay_s=6, then="answer"),
    ],
    ids=["stored, then reset", "stored, then 500", "stored, but too late"],
)
def test_a_thousand_inserts_whose_answer_was_lost_are_stored_once(clickhouse: ClickHouseServer, fault: Fault) -> None:
    """The same token again, as the loader tries it; a fiftieth of them for those that wait for a timeout."""
    times = LOST_ANSWERS // 50 if fault.delay_s else LOST_ANSWERS
    timeout_s = 5 if fault.delay_s else 30
    with closing(clickhouse.engine()) as patient, closing(clickhouse.engine(timeout_s=timeout_s)) as engine:
        patient.migrate()
        tries = 0
        for number in range(1, times + 1):
            clickhouse.goes_wrong(fault)
            record = Record(time.time_ns(), SPANS, body_of(number.to_bytes(16, "big")))
            tries += insert_until_stored(engine, record, f"token-{number}")
        rows = patient.query(STORED)
        asked = len([each for each in clickhouse.seen()["seen"] if INSERT in each["statement"]])
    doubled = [row for row in rows if row["stored"] != SPANS]
    print(f"\n{fault.then}, {times} times: {len(rows)} requests stored, {len(doubled)} not once; {tries} tries")
    assert (len(rows), doubled) == (times, [])
    assert asked >= 2 * times  # the client itself tries a reset connection again


def insert_until_stored(engine: ServerEngine, record: Record, token: str) -> int:
    """How often it had to be tried."""
    for tries in range(1, 50):
        try:
            engine.insert([record], token)
        except EngineUnavailable:
            continue
        return tries
    raise AssertionError(f"{token} was never stored")


def test_a_token_that_the_tables_have_forgotten_is_stored_again(clickhouse: ClickHouseServer) -> None:
    """What the window of remembered tokens (10,000) means; docs/decisions/004 says why it is enough."""
    with closing(clickhouse.engine()) as engine:
        engine.migrate()
        for table in ("transactions", "spans"):
            engine.command(f"ALTER TABLE {table} MODIFY SETTING non_replicated_deduplication_window = 10")
        first = Record(time.time_ns(), SPANS, body_of(b"first".ljust(16)))
        engine.insert([first], "first")
        for number in range(9):
            engine.insert([Record(time.time_ns(), SPANS, body_of(number.to_bytes(16, "big")))], f"token-{number}")
        engine.insert([first], "first")
        counts = {row["id"]: row["stored"] for row in engine.query(STORED)}
        assert counts[b"first".ljust(16).hex()] == SPANS
        for number in range(9, 30):
            engine.insert([Record(time.time_ns(), SPANS, body_of(number.to_bytes(16, "big")))], f"token-{number}")
        engine.insert([first], "first")
        counts = {row["id"]: row["stored"] for row in engine.query(STORED)}
        assert counts[b"first".ljust(16).hex()] == 2 * SPANS
    print("\nF9: within the window: stored once; after more other inserts than the window holds: stored twice")


@contextmanager
def hung(port: int) -> Iterator[list[socket.socket]]:
    """Accepts, and never answers."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", port)) as listening:
        listening.settimeout(0.1)
        over = threading.Event()

        def accept() -> None:
            while not over.is_set():
                try:
                    taken.append(listening.accept()[0])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield taken
        finally:
            over.set()
            thread.join()
            for each in taken:
                each.close()


@pytest.mark.timeout(600)
def test_a_server_that_accepts_and_never_answers_holds_up_nobody(tmp_path: Path, clickhouse: ClickHouseServer) -> None:
    """Each attempt ends by its timeout, requests are taken meanwhile, and all is stored in the end."""
    with collector_on(clickhouse, tmp_path / "data", clickhouse_timeout_s=5) as collector:
        oracle = Oracle(SEED, tmp_path)
        oracle.point_at(collector)
        assert oracle.send_one() == 200
        wait_until_loaded(collector)
        clickhouse.kill()
        slowest_s = 0.0
        with hung(clickhouse.port) as taken:
            ends_s = time.monotonic() + 30
            while time.monotonic() < ends_s:
                started_s = time.monotonic()
                assert oracle.send_one() == 200
                slowest_s = max(slowest_s, time.monotonic() - started_s)
                time.sleep(0.05)
            attempts = len(taken)
        clickhouse.start()
        wait_until_loaded(collector)
        with closing(clickhouse.engine()) as engine:
            verdict = oracle.judge(engine)
    print(f"\n30 s hung, {attempts} attempts of 5 s; slowest answer {slowest_s * 1000:.0f} ms; {verdict}")
    assert verdict.is_clean, verdict
    assert attempts >= 2
    assert slowest_s < stretched(5)
