"""
Load of unusual shape: fat spans, a million names, heavy questions meanwhile. By night; prints its numbers.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.bench.ingest_sender import Body, write_bodies
from tests.bench.process_usage import usage
from tests.bench.sending import collector_on, send, to
from tests.collector.clickhouse.spans import request, span
from tests.faults.load import MIB, SPANS_PER_S, WAYS, Bodies, acks, check_all_stored
from tests.servers import Collector, eventually

pytestmark = pytest.mark.nightly

FAT = {"100 × 50 B": (100, 50, True), "10 × 1 KB": (10, 1_000, True), "20 × 5 KB": (20, 5_000, False)}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("shape", FAT)
def test_a_thousand_fat_spans_a_second_are_all_stored(pinned: Collector, tmp_path: Path, shape: str) -> None:
    attributes, size, must_hold = FAT[shape]
    spans = 100 if must_hold else 20
    fat = [span({f"key.{at}": f"{at:03}" + "x" * (size - 3) for at in range(attributes)}) for _ in range(spans)]
    write_bodies(tmp_path / "bodies", [Body(spans, request(*fat).SerializeToString())])
    order = replace(WAYS["HTTP"], bodies=str(tmp_path / "bodies"), spans_per_s=1_000, seconds=20)
    started = usage(pinned.process.pid)
    sent = send(to(pinned, order))
    used = usage(pinned.process.pid)
    cores = (used.cpu_s - started.cpu_s) / sent.seconds
    print(f"\n{shape}: {sent.spans:,} spans, {cores:.0%} of a core, RSS {used.rss_bytes / MIB:.0f} MiB, {acks(sent)}")
    check_all_stored(pinned, sent.spans)
    if must_hold:
        assert sent.refused == {}
        assert sent.spans >= 0.99 * 1_000 * order.seconds


@pytest.mark.timeout(600)
def test_a_million_names_do_not_make_the_front_grow(pinned: Collector, tmp_path: Path) -> None:
    names = itertools.count()
    each = 500
    made = [Body(each, _all_different(names, each)) for _ in range(1_000_000 // each)]
    write_bodies(tmp_path / "bodies", made)
    order = to(pinned, replace(WAYS["HTTP"], bodies=str(tmp_path / "bodies"), spans_per_s=SPANS_PER_S, seconds=100))
    send(replace(order, seconds=5))
    before = usage(pinned.process.pid)
    sent = send(order)
    eventually(lambda: pinned.health()["spans"]["spooled"] == 0, 120)
    after = usage(pinned.process.pid)
    front = (after.front_rss_bytes - before.front_rss_bytes) / MIB
    print(
        f"\n{sent.spans:,} spans of as many services, routes and keys: front {front:+.0f} MiB,"
        f" database {after.database_rss_bytes / MIB:.0f} MiB at most; {acks(sent)}"
    )
    assert sent.refused == {}
    assert front <= 64
    assert pinned.health()["spans"]["received"] == pinned.health()["spans"]["stored"]


def _all_different(names: Iterator[int], count: int) -> bytes:
    """Spans that differ in service, route and a key."""
    whole = request()
    for name in itertools.islice(names, count):
        one = request(
            span({f"key.{name}": "x", "http.route": f"/route/{name}"}, name=f"GET /route/{name}"),
            resource={"service.name": f"service-{name}"},
        )
        whole.resource_spans.extend(one.resource_spans)
    return whole.SerializeToString()


HEAVY = (
    "SELECT attributes, count(), quantiles(0.5, 0.99)(duration_ns) FROM spans GROUP BY attributes ORDER BY 2 DESC",
    "SELECT name, uniqExact(trace_id), uniqExact(span_id) FROM spans GROUP BY name",
    "SELECT max(length(toString(s.attributes))) FROM spans AS s",
    "SELECT count() FROM spans AS a INNER JOIN spans AS b ON a.trace_id = b.trace_id WHERE a.own_ns < b.duration_ns",
)


@pytest.mark.timeout(300)
def test_heavy_questions_do_not_hold_up_what_arrives(tmp_path: Path, bodies: Bodies) -> None:
    with collector_on(None, tmp_path / "data") as collector:
        order = to(collector, replace(WAYS["HTTP"], bodies=bodies(), spans_per_s=5_000, seconds=30))
        quiet = send(order)
        is_over, answers = threading.Event(), list[int]()
        asking = [threading.Thread(target=_question_until, args=(collector, sql, is_over, answers)) for sql in HEAVY]
        for thread in asking:
            thread.start()
        busy = send(order)
        is_over.set()
        for thread in asking:
            thread.join()
        print(f"\n{acks(quiet)}; beside {len(answers)} answers to {len(HEAVY)} heavy questions {acks(busy)}")
        assert quiet.refused == busy.refused == {}
        assert answers
        check_all_stored(collector, quiet.spans + busy.spans)
        assert busy.ack_p99_ms <= max(2 * quiet.ack_p99_ms, 100)


def _question_until(collector: Collector, sql: str, is_over: threading.Event, answers: list[int]) -> None:
    """Ask for ever; what is over a limit or one too many is an answer too."""
    while not is_over.is_set():
        answers.append(httpx.post(f"{collector.web_url}/api/sql", json={"sql": sql}, timeout=120).status_code)
