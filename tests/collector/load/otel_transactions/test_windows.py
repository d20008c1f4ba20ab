"""Windows of roots of other SDKs: when they are due; nothing is lost or doubled, however often they are assembled."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.load.otel_transactions import windows
from walltime_collector.load.otel_transactions.windows import Late, Window, assemble, check, due, unchecked

from tests.collector.clickhouse.spans import request, span, store

SERVICES = (f"service-{number}" for number in itertools.count())
STORED = (
    "SELECT count() AS rows, uniqExact(trace_id, span_id) AS roots FROM transactions WHERE service = {service:String}"
)


@pytest.fixture
def service() -> str:
    """A service of this test alone."""
    return next(SERVICES)


@pytest.fixture
def window(engine: Engine) -> Iterator[Window]:
    """A window that starts now; nothing of earlier tests is in it."""
    started_s = int(time.time()) + 1
    time.sleep(started_s - time.time())
    yield Window(started_s, started_s + 3600)
    # the next test must not see these roots as due
    engine.command("TRUNCATE TABLE foreign_roots")
    engine.command("TRUNCATE TABLE foreign_windows")


def roots(number: int) -> list[Span]:
    return [span({"http.request.method": "GET"}) for _ in range(number)]


def below(root: Span, **attributes: object) -> Span:
    return span(attributes, trace_id=root.trace_id, parent_span_id=root.span_id, kind=Span.SPAN_KIND_CLIENT)


def send(engine: Engine, service: str, *spans: Span) -> None:
    store(engine, request(*spans, resource={"service.name": service}))


def stored(engine: Engine, service: str) -> tuple[int, int]:
    (row,) = engine.query(STORED, {"service": service})
    return int(row["rows"]), int(row["roots"])


@pytest.mark.nightly
def test_a_window_is_due_when_it_is_closed_and_settled_and_until_it_is_assembled(
    engine: Engine, service: str, window: Window
) -> None:
    now_s = window.since_s
    send(engine, service, *roots(2))
    (loaded,) = engine.query("SELECT DISTINCT toUnixTimestamp(loaded_at) AS s FROM foreign_roots")
    assert due(engine, from_s=0, window_s=3600, settle_s=0) == []
    assert due(engine, from_s=0, window_s=1, settle_s=3600) == []
    while time.time() < loaded["s"] + 1:
        time.sleep(0.02)
    (one,) = due(engine, from_s=0, window_s=1, settle_s=0)
    assert one == Window(loaded["s"], loaded["s"] + 1)
    assert due(engine, from_s=now_s + 3600, window_s=1, settle_s=0) == []
    assert assemble(engine, one) == 2
    assert due(engine, from_s=0, window_s=1, settle_s=0) == []
    # windows of another length start elsewhere, and the same roots are not due again
    while time.time() // 2 * 2 <= loaded["s"]:
        time.sleep(0.02)
    assert due(engine, from_s=0, window_s=2, settle_s=0) == []
    assert stored(engine, service) == (2, 2)


@pytest.mark.nightly
def test_several_collectors_at_once_store_every_root_once(
    engine: Engine, service: str, window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "ROOTS_AT_ONCE", 60)
    send(engine, service, *roots(100))
    with ThreadPoolExecutor(2) as collectors:
        assert list(collectors.map(lambda _: assemble(engine, window), range(2))) == [100, 100]
    assert stored(engine, service) == (100, 100)
    plan = engine.query(
        "SELECT step, parts, roots, spans FROM foreign_windows WHERE since = {s:UInt32}", {"s": window.since_s}
    )
    assert {(row["step"], row["parts"], row["roots"], row["spans"]) for row in plan} == {
        ("planned", 2, 100, 100),
        ("assembled", 2, 100, 100),
    }


def test_a_second_try_adds_the_rows_of_views_that_the_first_try_did_not_reach(
    engine: Engine, service: str, window: Window
) -> None:
    send(engine, service, *roots(5))
    assemble(engine, window)
    # as if the process had ended after the rows of transactions were stored, and before those of this view
    engine.command(
        "CREATE TABLE seen (trace_id FixedString(16)) ENGINE = MergeTree ORDER BY trace_id"
        " SETTINGS non_replicated_deduplication_window = 100"
    )
    engine.command("CREATE MATERIALIZED VIEW see TO seen AS SELECT trace_id FROM transactions WHERE kept = 'foreign'")
    try:
        assemble(engine, window)
        assert engine.query("SELECT count() AS n FROM seen") == [{"n": 5}]
        assert stored(engine, service) == (5, 5)
    finally:
        engine.command("DROP VIEW see")
        engine.command("DROP TABLE seen")


def test_late_spans_are_counted_and_late_roots_become_transactions(
    engine: Engine, service: str, window: Window
) -> None:
    early, late = roots(2)
    send(engine, service, early)
    assemble(engine, window)
    send(engine, service, late, below(early), below(early))
    assert check(engine, window) == Late(roots=1, spans=3)
    assert stored(engine, service) == (2, 2)


@pytest.mark.nightly
def test_a_window_is_checked_once_and_only_when_it_is_old_enough(engine: Engine, service: str, window: Window) -> None:
    send(engine, service, *roots(1))
    (loaded,) = engine.query("SELECT toUnixTimestamp(loaded_at) AS s FROM foreign_roots")
    old = Window(loaded["s"] - windows.LATE_S - 2, loaded["s"] - windows.LATE_S - 1)
    for each in (window, old):
        assemble(engine, each)
    assert unchecked(engine) == [old]
    check(engine, old)
    assert unchecked(engine) == []


@pytest.mark.nightly
def test_a_root_that_is_sent_again_is_one_transaction(engine: Engine, service: str, window: Window) -> None:
    (root,) = roots(1)
    send(engine, service, root, root)
    first_s = window.since_s
    assemble(engine, Window(first_s, first_s + 1))
    time.sleep(max(0.0, first_s + 1 - time.time()))
    send(engine, service, root)
    assemble(engine, Window(first_s + 1, first_s + 3600))
    assert stored(engine, service) == (1, 1)


def test_a_request_with_a_bill_of_walltimes_sdk_in_the_same_service_is_no_second_transaction(
    engine: Engine, service: str, window: Window
) -> None:
    caller, sent = b"\x09" * 8, request()
    for place in ("inside", "outside", "beside"):
        theirs = span({}, parent_span_id=caller)
        ours = span({"walltime.schema": 1}, trace_id=theirs.trace_id, parent_span_id=caller)
        if place == "inside":
            ours.parent_span_id = theirs.span_id
        elif place == "outside":
            theirs.parent_span_id = ours.span_id
        below = span({}, trace_id=theirs.trace_id, parent_span_id=theirs.span_id)
        sent.MergeFrom(request(theirs, ours, resource={"service.name": f"{service} {place}"}))
        sent.MergeFrom(request(below, resource={"service.name": f"{service} {place} down"}))
    store(engine, sent)
    assemble(engine, window)
    for place in ("inside", "outside", "beside"):
        assert stored(engine, f"{service} {place}") == (1, 1), place
        assert stored(engine, f"{service} {place} down") == (1, 1), place
