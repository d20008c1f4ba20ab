"""Spans that are not as they should be: nothing absurd stops an insert, each is counted, and none is stored twice."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import InsertRefused
from walltime_collector.spool.segment import Record

from tests.by_day import by_day
from tests.collector.clickhouse.spans import pairs, request, rows, span, store, tokens

DAY_NS = 86_400_000_000_000


def the(engine: Engine, table: str, one: Span) -> dict[str, Any]:
    """The one row of a span."""
    (row,) = rows(engine, table, one)
    return row


def counted(engine: Engine, reason: str) -> int:
    found = engine.query("SELECT sum(spans) AS n FROM irregular_spans WHERE reason = {r:String}", {"r": reason})
    return int(found[0]["n"])


@pytest.mark.parametrize("length", by_day([0, 7, 9, 1, 8, 15, 17, 32], 3))
@pytest.mark.parametrize("field", ["trace_id", "span_id"])
def test_a_span_without_a_proper_id_is_counted_and_its_neighbours_are_stored(
    engine: Engine, field: str, length: int
) -> None:
    if (field, length) == ("span_id", 8):
        pytest.skip("that is a proper one")
    good = span()
    wrong: dict[str, Any] = {field: b"\x05" * length}
    zeros: dict[str, Any] = {field: bytes(16 if field == "trace_id" else 8)}
    before, stored = counted(engine, "bad_ids"), engine.query("SELECT count() AS n FROM spans")[0]["n"]
    store(engine, request(span(**wrong), good, span(**zeros)))
    the(engine, "spans", good)
    assert engine.query("SELECT count() AS n FROM spans")[0]["n"] == stored + 1
    assert counted(engine, "bad_ids") == before + 2


def test_absurd_times_are_clamped_counted_and_touch_few_partitions(
    engine: Engine,
) -> None:
    now_ns = time.time_ns()
    starts = [0, 1, now_ns - 40 * DAY_NS, now_ns + 2 * DAY_NS, 2**63, 2**64 - 1]
    absurd = [span(start_time_unix_nano=start, end_time_unix_nano=now_ns) for start in starts]
    half_days = range(-57, 2)  # as transactions, which are kept for 30 days
    days = [
        span(
            {"walltime.schema": 1},
            start_time_unix_nano=(start_ns := now_ns + at * DAY_NS // 2),
            end_time_unix_nano=start_ns,
        )
        for at in half_days
    ]
    before = counted(engine, "clamped_start")
    store(engine, request(*absurd, *days), received_at_ns=now_ns)
    started = engine.query(
        "SELECT DISTINCT toUnixTimestamp64Nano(started_at) AS ns FROM spans WHERE hex(trace_id) IN {ids:Array(String)}",
        {"ids": [each.trace_id.hex().upper() for each in absurd]},
    )
    assert started == [{"ns": now_ns}]
    assert counted(engine, "clamped_start") == before + len(absurd)
    assert {the(engine, "spans", each)["duration_ns"] for each in absurd} == {0}
    assert {the(engine, "transactions", each)["duration_ns"] for each in days} == {0}
    partitions = engine.query(
        "SELECT uniqExact(toDate(started_at)) AS n FROM transactions WHERE hex(trace_id) IN {ids:Array(String)}",
        {"ids": [each.trace_id.hex().upper() for each in days]},
    )
    assert 29 <= partitions[0]["n"] <= 32


NOW_NS = time.time_ns()
IMPLAUSIBLE: Final = {
    "no start": {"start_time_unix_nano": 0},
    "start in milliseconds": {"start_time_unix_nano": NOW_NS // 1_000_000},
    "start in microseconds": {"start_time_unix_nano": NOW_NS // 1_000},
    "start in 400 days": {"start_time_unix_nano": NOW_NS + 400 * DAY_NS, "end_time_unix_nano": NOW_NS + 400 * DAY_NS},
    "start beyond any date": {"start_time_unix_nano": 2**64 - 2, "end_time_unix_nano": 2**64 - 1},
    "no end": {"end_time_unix_nano": 0},
    "end before start": {"start_time_unix_nano": NOW_NS, "end_time_unix_nano": NOW_NS - 1},
    "longer than 7 days": {"start_time_unix_nano": NOW_NS, "end_time_unix_nano": NOW_NS + 7 * DAY_NS + 1},
    "end beyond any date": {"end_time_unix_nano": 2**64 - 1},
}
ABSURD_NS: Final[dict[str, object]] = {
    "walltime.queue_ns": 7 * DAY_NS + 1,
    "walltime.mysql.query.time_ns": 2**63 - 1,
    "walltime.render.max_ns": 2**62,
    "walltime.target.time_ns": [5, 2**63 - 1],
}


@pytest.mark.parametrize("name", by_day([*IMPLAUSIBLE, *ABSURD_NS], 3))
def test_times_that_cannot_be_are_set_aside_counted_and_in_no_mean(engine: Engine, name: str) -> None:
    times = IMPLAUSIBLE.get(name, {})
    own = {name: ABSURD_NS[name]} if name in ABSURD_NS else {}
    bill = span({"walltime.schema": 1, "walltime.mysql.query.calls": 3, "user.id": "u-17", **own}, **times)
    root = span({"http.route": "/", **own}, **times)
    good = span({"walltime.schema": 1})
    before, roots = counted(engine, "implausible_times"), number_of_roots(engine)
    store(engine, request(bill, root, good), received_at_ns=NOW_NS)
    assert counted(engine, "implausible_times") == before + 2
    assert rows(engine, "transactions", bill) == []
    assert number_of_roots(engine) == roots, "it would become a transaction"
    assert the(engine, "transactions", good)["duration_ns"] == 5_000_000
    for one in (bill, root):
        row = the(engine, "spans", one)
        sent = f"start {one.start_time_unix_nano} ns, end {one.end_time_unix_nano} ns"
        assert row["duration_ns"] == row["own_ns"] == 0
        assert row["attributes"]["walltime.set_aside"] == f"times are not plausible: {sent}"
    kept = the(engine, "spans", bill)["attributes"]
    assert (kept["walltime.mysql.query.calls"], kept["user.id"], kept["walltime.schema"]) == ("3", "u-17", "1")


def number_of_roots(engine: Engine) -> int:
    return int(engine.query("SELECT count() AS n FROM foreign_roots")[0]["n"])


@pytest.mark.parametrize(
    "times",
    [
        {"start_time_unix_nano": NOW_NS, "end_time_unix_nano": NOW_NS + 7 * DAY_NS},
        {"start_time_unix_nano": NOW_NS, "end_time_unix_nano": NOW_NS},
        {"start_time_unix_nano": NOW_NS - 8_000 * DAY_NS, "end_time_unix_nano": NOW_NS - 8_000 * DAY_NS + 5},
        {"start_time_unix_nano": NOW_NS + 300 * DAY_NS, "end_time_unix_nano": NOW_NS + 300 * DAY_NS + 5},
    ],
)
def test_unusual_times_and_clocks_that_are_wrong_are_taken(engine: Engine, times: dict[str, int]) -> None:
    bill = span({"walltime.schema": 1}, **times)
    store(engine, request(bill), received_at_ns=NOW_NS)
    duration_ns = times["end_time_unix_nano"] - times["start_time_unix_nano"]
    assert the(engine, "transactions", bill)["duration_ns"] == duration_ns


def test_nothing_else_absurd_stops_an_insert(engine: Engine) -> None:
    hostile = span(
        {
            "walltime.schema": 1,
            "walltime.mysql.query.calls": -5,
            "walltime.mysql.query.time_ns": 7 * DAY_NS,
            "walltime.covered_ns": 7 * DAY_NS,
            "walltime.render.calls": -1,
            "http.response.status_code": 10**9,
            "walltime.target.component": ["a", "b", "c"],
            "walltime.target.address": ["only one"],
            "walltime.target.calls": [1, -2, 3, 4, 5],
            "walltime.statement.calls": [1, 2],
            "": "no key",
            "k" * 100_000: "v" * 100_000,
        },
        parent_span_id=b"\x01\x02\x03",
        events=[Span.Event(time_unix_nano=2**64 - 1, name="late"), Span.Event(time_unix_nano=2**63)],
        links=[Span.Link(trace_id=b"x", span_id=b"y" * 99)],
    )
    hostile.attributes.extend(pairs({"walltime.mysql.query.calls": 6, "user.id": "a"}))
    hostile.attributes.extend(pairs({"user.id": "b", "again": 1}))
    hostile.attributes.extend(pairs({"again": 2}))
    store(engine, request(hostile))
    row = the(engine, "transactions", hostile)
    assert row["mysql_query_calls"] == 0
    assert row["mysql_query_time_ns"] == 7 * DAY_NS
    assert row["other_ns"] == 0
    assert row["target.address"] == ["only one", "", ""]
    assert row["statement.calls"] == []
    assert row["custom_calls"] == {"render": 0}
    plain = span(events=hostile.events, links=hostile.links, parent_span_id=b"\x01" * 9)
    plain.attributes.extend(hostile.attributes[1:])
    store(engine, request(plain))
    assert the(engine, "spans", plain)["events.name"] == ["late", ""]


MOST, MOST_OF_A_BILL = 128, 1_024


@pytest.mark.parametrize("beyond", by_day([1, 0, 100_000], 3))
def test_of_a_span_128_attributes_are_kept_and_that_there_were_more_is_counted(engine: Engine, beyond: int) -> None:
    sent = {f"key.{at}": at for at in range(MOST + beyond)}
    crowded, neighbour = span(sent), span({"key": "v"})
    before = counted(engine, "attributes_dropped")
    store(engine, request(neighbour, crowded))
    kept = dict(list(sent.items())[:MOST])
    assert the(engine, "spans", crowded)["attributes"] == {key: str(value) for key, value in kept.items()}
    assert the(engine, "spans", neighbour)["attributes"] == {"key": "v"}
    assert counted(engine, "attributes_dropped") == before + (beyond > 0)


@pytest.mark.parametrize("beyond", [0, 1])
def test_of_a_bill_1024_attributes_are_kept_and_every_counter_that_has_a_column(engine: Engine, beyond: int) -> None:
    own: Mapping[str, object] = {"walltime.schema": 1, "walltime.mysql.query.calls": 7, "walltime.render.calls": 5}
    more = {f"key.{at}": "v" for at in range(MOST_OF_A_BILL - len(own) + beyond)}
    first, last = span({**own, **more}), span({**more, **own})
    before = counted(engine, "attributes_dropped")
    store(engine, request(first, last))
    for bill, kept in ((first, MOST_OF_A_BILL - len(own)), (last, MOST_OF_A_BILL - len(own) + beyond)):
        row = the(engine, "transactions", bill)
        assert (row["mysql_query_calls"], row["custom_calls"]) == (7, {"render": 5})
        assert list(row["attributes"]) == list(more)[:kept]
    assert counted(engine, "attributes_dropped") == before + 2 * beyond


def test_an_odd_span_is_counted_for_all_that_is_odd_about_it(engine: Engine) -> None:
    reasons = ("bad_ids", "clamped_start", "attributes_dropped")
    before = [counted(engine, reason) for reason in reasons]
    many = {f"key.{at}": at for at in range(MOST + 1)}
    early = {"start_time_unix_nano": 1}
    store(engine, request(span(many, **early), span(many, **early, span_id=b"")))
    assert [counted(engine, reason) - was for reason, was in zip(reasons, before, strict=True)] == [1, 1, 1]


def test_the_same_token_stores_once_and_another_stores_again(engine: Engine) -> None:
    transaction, call = span({"walltime.schema": 1}), span(trace_id=b"")
    call.trace_id = transaction.trace_id
    bad = span(span_id=b"")
    received_at_ns = time.time_ns()
    before = counted(engine, "bad_ids")

    def again(token: str) -> tuple[int, int, int]:
        store(engine, request(transaction, call, bad), token=token, received_at_ns=received_at_ns)
        return (
            len(rows(engine, "transactions", transaction)),
            len(rows(engine, "spans", call)),
            counted(engine, "bad_ids") - before,
        )

    assert again("spool/one") == (1, 1, 1)
    assert again("spool/one") == (1, 1, 1)
    assert again("spool/two") == (2, 2, 2)


def test_a_large_segment_under_the_same_token_stores_once(engine: Engine) -> None:
    requests = [request(*[span({"n": at}) for at in range(400)]) for _ in range(200)]
    trace_ids = [each.resource_spans[0].scope_spans[0].spans[0].trace_id.hex().upper() for each in requests]
    for _ in range(2):
        store(engine, *requests, token="spool/large", received_at_ns=time.time_ns() // DAY_NS * DAY_NS)
    stored = engine.query(
        "SELECT count() AS n FROM spans WHERE hex(trace_id) IN {ids:Array(String)}", {"ids": trace_ids}
    )
    assert stored == [{"n": len(requests)}]


def test_bytes_that_do_not_parse_are_refused_as_data(engine: Engine) -> None:
    stored = engine.query("SELECT count() AS n FROM spans")
    for body in (b"\x0a\xff\xff", b"\x0a\x05\x12\x03\x12\x7f\x00", b"\xff" * 30):
        with pytest.raises(InsertRefused):
            engine.insert([Record(time.time_ns(), 1, body)], f"schema-{next(tokens)}")
    assert engine.query("SELECT count() AS n FROM spans") == stored
