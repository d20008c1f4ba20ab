"""
Load held: what is acknowledged is stored, at the rate that is asked for, within bounds.

By day this takes seconds. The night has the rest, and prints its numbers: CPU and memory are those of the collector and
its engine together, on a core of their own; the sender has another. SOAK_MINUTES=60 soaks as long as a release wants.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import median

import httpx
import pytest
from walltime_collector.clickhouse.opening import open_engine
from walltime_collector.config.settings import Settings

from tests.bench.process_usage import descendants, usage
from tests.bench.sending import COLLECTOR_CORE, collector_on, send, to
from tests.by_day import by_day
from tests.collector.clickhouse.spans import request, span
from tests.faults.load import MIB, SPANS_PER_S, WAYS, Bodies, Held, acks, check_all_stored, held, slope, stored
from tests.servers import Collector, eventually

SMALL_SPOOL_BYTES = 96 * MIB


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with Collector(tmp_path_factory.mktemp("load") / "data") as collector:
        yield collector


@pytest.mark.parametrize("way", by_day(WAYS, 4))
def test_ten_thousand_spans_a_second_are_all_stored(shared: Collector, bodies: Bodies, way: str) -> None:
    order = replace(WAYS[way], bodies=bodies(is_zipped="gzip" in way), seconds=0.8)
    before = stored(shared)
    sent = send(to(shared, order), core=None)
    assert sent.refused == {}
    assert sent.spans >= 0.5 * SPANS_PER_S * order.seconds  # a busy machine may not send more
    check_all_stored(shared, before + sent.spans)


@pytest.mark.nightly
@pytest.mark.timeout(180)
@pytest.mark.parametrize("way", WAYS)
def test_a_minute_of_ten_thousand_spans_a_second_costs_less_than_a_core(
    pinned: Collector, bodies: Bodies, way: str
) -> None:
    order = to(pinned, replace(WAYS[way], bodies=bodies(is_zipped="gzip" in way), seconds=60))
    started = usage(pinned.process.pid)
    sent = send(order)
    used = usage(pinned.process.pid)
    cores = (used.cpu_s - started.cpu_s) / sent.seconds
    print(f"\n{way}: {cores:.0%} of a core, RSS {used.rss_bytes / MIB:.0f} MiB, {acks(sent)}")
    assert sent.refused == {}
    assert sent.spans >= 0.99 * SPANS_PER_S * order.seconds
    check_all_stored(pinned, sent.spans)
    assert cores <= 1
    assert used.rss_bytes <= 1024 * MIB
    assert sent.ack_p99_ms <= 100


@pytest.mark.nightly
@pytest.mark.timeout(2 * 3600)
def test_nothing_grows_while_it_soaks(pinned: Collector, bodies: Bodies) -> None:
    minutes = float(os.environ.get("SOAK_MINUTES", "10"))
    order = to(pinned, replace(WAYS["HTTP"], bodies=bodies(), spans_per_s=5_000, seconds=minutes * 60))
    front, database, minute = list[Held](), list[Held](), list[float]()
    with ThreadPoolExecutor(1) as sender:
        running = sender.submit(send, order)
        while not running.done():
            minute.append(time.monotonic() / 60)
            front.append(held([pinned.process.pid]))
            database.append(held(descendants(pinned.process.pid)))
            time.sleep(min(5.0, minutes))
        sent = running.result()
    settled = slice(len(minute) // 4, None)
    fronts, databases = front[settled], database[settled]
    growth = slope(minute[settled], [each.rss_mib for each in fronts])
    middle, late = (median(each.rss_mib for each in part) for part in in_halves(databases))
    print(
        f"\n{minutes:g} min: front {fronts[0].rss_mib:.0f} to {fronts[-1].rss_mib:.0f} MiB, {growth:+.2f} MiB/min,"
        f" {spread(each.files for each in fronts)} more files, {spread(each.threads for each in fronts)} more threads;"
        f" database {middle:.0f} MiB in the middle, {late:.0f} MiB late,"
        f" {max(each.rss_mib for each in databases):.0f} at most; {acks(sent)}"
    )
    assert sent.refused == {}
    check_all_stored(pinned, sent.spans)
    assert growth <= 0.5 * max(1, 60 / minutes)  # a short soak sees the caches fill
    assert spread(each.files for each in fronts) <= 64  # with the connections
    assert spread(each.threads for each in fronts) <= 10
    assert late <= 1.1 * middle + 32  # merges come and go; it is the level that must not rise
    assert max(each.rss_mib for each in databases) <= 1024


def in_halves(values: list[Held]) -> tuple[list[Held], list[Held]]:
    return values[: len(values) // 2], values[len(values) // 2 :]


def spread(values: Iterable[int]) -> int:
    """Between the fewest and the most."""
    every = list(values)
    return max(every) - min(every)


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_beyond_what_it_can_take_it_refuses_and_always_answers(tmp_path: Path, bodies: Bodies) -> None:
    with collector_on(COLLECTOR_CORE, tmp_path / "data", max_spool_bytes=SMALL_SPOOL_BYTES) as collector:
        faster = replace(WAYS["HTTP"], bodies=bodies(512), spans_per_s=20_000, faster_by=1.2, step_s=4, seconds=90)
        sent = send(to(collector, replace(faster, until_refused=True)))
        print(
            f"\nkept up with {sent.kept_up_per_s:,.0f} spans/s; {sent.spans_per_s:,.0f} spans/s when it ended,"
            f" refused {sent.refused}; {acks(sent)}"
        )
        assert set(sent.refused) <= {"503"}
        assert sent.kept_up_per_s >= 20_000
        check_all_stored(collector, sent.spans)


@pytest.mark.nightly
@pytest.mark.timeout(400)
def test_three_times_too_much_is_refused_with_when_to_come_again(tmp_path: Path, bodies: Bodies) -> None:
    with collector_on(COLLECTOR_CORE, tmp_path / "data", max_spool_bytes=SMALL_SPOOL_BYTES) as collector:
        most = to(collector, replace(WAYS["HTTP"], bodies=bodies(512), spans_per_s=0, seconds=15))
        usual = send(most)
        check_all_stored(collector, usual.spans)
        before = usage(collector.process.pid)
        rate = 3 * usual.spans / usual.seconds
        asked, is_over = list[httpx.Response](), threading.Event()
        asking = threading.Thread(target=_ask_until, args=(is_over, collector, asked))
        asking.start()
        sent = send(replace(most, spans_per_s=rate, seconds=120))
        is_over.set()
        asking.join()
        after = usage(collector.process.pid)
        eventually(lambda: collector.health()["spans"]["spooled"] < SPANS_PER_S, 60)
        later = send(replace(most, bodies=bodies(100), spans_per_s=SPANS_PER_S, seconds=20))
        front, together = (after.front_rss_bytes - before.front_rss_bytes) / MIB, after.rss_bytes / MIB
        print(
            f"\n{rate:,.0f} spans/s: {sent.spans:,} spans taken, {sum(sent.refused.values()):,} requests refused;"
            f" front {front:+.0f} MiB, together {together:.0f} MiB; afterwards {acks(later)}"
        )
        refused = [answer for answer in asked if answer.status_code != 200]
        assert {answer.status_code for answer in refused} == {503}
        assert all(answer.headers["retry-after"].isdecimal() for answer in refused)
        assert set(sent.refused) == {"503"}
        assert later.refused == {}
        check_all_stored(collector, usual.spans + sent.spans + later.spans + len(asked) - len(refused))
        assert front <= 64
        assert together <= 1024


def _ask_until(is_over: threading.Event, collector: Collector, asked: list[httpx.Response]) -> None:
    """Requests of one span, as a client with a library for it sees the answers."""
    while not is_over.wait(0.2):
        asked.append(collector.send(request(span()).SerializeToString()))


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_inserts_are_few_and_large(tmp_path: Path, bodies: Bodies) -> None:
    data, seconds = tmp_path / "data", 60
    with collector_on(COLLECTOR_CORE, data) as collector:
        sent = send(to(collector, replace(WAYS["HTTP"], bodies=bodies(), seconds=seconds)))
        check_all_stored(collector, sent.spans)
    engine = open_engine(Settings(data=data))
    try:
        # every insert into a partition takes the next number of its blocks
        rows = engine.query(
            "SELECT table, partition, max(max_block_number) AS inserts, count() AS parts, sum(rows) AS rows"
            " FROM system.parts WHERE active AND database = currentDatabase() AND table != 'schema_migrations'"
            " GROUP BY table, partition"
        )
    finally:
        engine.close()
    assert "spans" in {row["table"] for row in rows}
    for row in rows:
        inserts, parts = int(row["inserts"]), int(row["parts"])
        where = f"{row['table']} {row['partition']}"
        print(f"\n{where}: {inserts} inserts in {seconds} s, {parts} parts, {row['rows']} rows")
    assert max(int(row["inserts"]) for row in rows) <= 1.1 * seconds + 2
    assert max(int(row["parts"]) for row in rows) < 300
