"""One transaction: its bill is the one that was sent, and adds up on the screen as well."""

from __future__ import annotations

import itertools
import json
import math
import re
import threading
from dataclasses import asdict, replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.conversion import from_json
from walltime_collector.query.after_response import after_response
from walltime_collector.query.answers import Trace
from walltime_collector.query.queries import query_text, run
from walltime_collector.query.top import top
from walltime_collector.query.transaction.show import show
from walltime_collector.query.transaction.trace_tree import in_order, owners
from walltime_collector.query.transaction.wording import choose
from walltime_collector.trace_id import parse_span_id, parse_trace_id

from tests.collector.conftest import Store, Stored
from tests.collector.query.showing import asked, make, said
from tests.collector.traffic import MS, SAMPLE_NS, Sent, SentCall, SentSample


def kept(shop: Stored, name: str) -> Sent:
    return next(sent for sent in shop.sent if sent.name == name and sent.kept)


@pytest.mark.parametrize("name", ["GET /product/{id}", "GET /search", "POST /cart", "GET /recommendations"])
def test_the_bill_is_the_one_that_was_sent(shop: Stored, name: str) -> None:
    sent = kept(shop, name)
    bill = asked(shop.engine, sent.trace_id).transactions[0]

    wire = sent.bill()
    counters = {
        f"walltime.{component.name}.{counter}": number
        for component in bill.components
        for counter in ("calls", "time_ns", "max_ns", "errors", "keys", "hits", "misses", "rows")
        if (number := getattr(component, counter))
    }
    mine = tuple(f"walltime.{call.component}." for call in sent.calls)
    assert counters == {key: value for key, value in wire.items() if key.startswith(mine)}
    assert [each.component for each in bill.targets] == wire["walltime.target.component"]
    assert [each.hits for each in bill.targets] == wire["walltime.target.hits"]
    assert [each.misses for each in bill.targets] == wire["walltime.target.misses"]
    assert [each.text for each in bill.statements] == wire.get("walltime.statement.text", [])
    assert [each.time_ns for each in bill.statements] == wire.get("walltime.statement.time_ns", [])
    assert (bill.duration_ns, bill.queue_ns, bill.cpu_user_ns, bill.cpu_system_ns, bill.http_status) == (
        sent.duration_ns,
        wire["walltime.queue_ns"],
        wire["walltime.cpu_user_ns"],
        wire["walltime.cpu_system_ns"],
        200,
    )


def test_kept_calls_come_in_time_order_with_what_they_did(shop: Stored) -> None:
    sent = kept(shop, "GET /product/{id}")
    bill = asked(shop.engine, sent.trace_id).transactions[0]

    assert [(call.component, call.offset_ns, call.duration_ns) for call in bill.calls] == [
        (call.component, call.offset_ns, call.duration_ns) for call in sent.calls
    ]
    for call, was in zip(bill.calls, sent.calls, strict=True):
        if was.component == "memcache.get":
            assert (call.text, call.result) == (
                was.attributes["walltime.memcache.key"],
                was.attributes["walltime.memcache.result"],
            )
        if was.component == "mysql.query":
            assert (call.text, call.result, call.address) == (
                was.attributes["db.query.text"],
                "12 rows",
                "10.0.0.5:3306",
            )


def test_the_lines_on_the_screen_add_up_to_the_duration(shop: Stored) -> None:
    for sent in shop.sent[:40]:
        trace = asked(shop.engine, sent.trace_id)
        shown = said(trace, span=sent.span_id)
        table = shown[shown.index("component") : shown.index("total")]
        lines_ms = [float(number.replace(",", "")) for number in re.findall(r" ([\d,]+\.\d{3})  ", table)]
        total_ms = float(re.findall(r"total +([\d,]+\.\d{3})", shown)[0].replace(",", ""))

        assert len(lines_ms) == len({call.component for call in sent.calls}) + 1
        assert round(sum(lines_ms), 3) == total_ms or f"add up to {sent.duration_ns:,} ns exactly" in shown
        assert total_ms == pytest.approx(sent.duration_ns / 1e6, abs=0.0005)


AFTER = {
    "walltime.after_response.duration_ns": 35 * MS,
    "walltime.after_response.component": ["mysql.commit", "http.request"],
    "walltime.after_response.calls": [2, 1],
    "walltime.after_response.time_ns": [3 * MS, 30 * MS],
    "walltime.after_response.errors": [0, 1],
    "walltime.after_response.error_type": "LookupError",
}


def test_what_came_after_the_response_is_shown_apart_and_is_in_no_sum(engine: Engine, store: Store) -> None:
    sent = make("GET /after", attributes=AFTER)
    store([sent])
    trace = asked(engine, sent.trace_id)
    (bill,) = trace.transactions
    after = bill.after_response
    assert after is not None
    assert (after.duration_ns, after.error_type) == (35 * MS, "LookupError")
    assert [(each.component, each.calls, each.time_ns, each.errors) for each in after.components] == [
        ("mysql.commit", 2, 3 * MS, 0), ("http.request", 1, 30 * MS, 1),
    ]  # fmt: skip
    assert (bill.components, bill.duration_ns, bill.other_ns, bill.overlap_ns) == ((), 10 * MS, 10 * MS, 0)
    assert from_json(Trace, json.loads(json.dumps(asdict(trace)))) == trace
    shown = re.sub(r" +", " ", said(trace))
    lines = [line.strip() for line in shown.partition("after the response")[2].splitlines()][1:]
    assert lines[1:3] == ["mysql.commit 2 3.000", "http.request 1 30.000 1 error"]
    assert "it continued for 35 ms, which is not in the duration above; ended by LookupError" in shown.replace(
        "35.0", "35"
    )
    assert "after the response" not in said(asked(engine, _stored(store).trace_id))
    kind = next(each for each in top(engine, since_s=3600).kinds if each.name == "GET /after")
    assert (kind.components, kind.mean_ns) == ((), 10 * MS)


def _stored(store: Store) -> Sent:
    sent = make("GET /plain")
    store([sent])
    return sent


@given(st.dictionaries(st.sampled_from(sorted(AFTER)), st.text(max_size=20) | st.just("[1]") | st.just('{"a": 1}')))
def test_whatever_is_sent_as_after_the_response_is_read(attributes: dict[str, str]) -> None:
    after = after_response(attributes)
    assert (after is None) == ("walltime.after_response.duration_ns" not in attributes)


def test_calls_that_overlap_are_shown_as_such_and_the_bill_still_adds_up(engine: Engine, store: Store) -> None:
    at_once = [SentCall("http.request", 1 * MS, 6 * MS), SentCall("http.request", 1 * MS, 7 * MS)]
    sent = make(calls=at_once, attributes={"walltime.covered_ns": 7 * MS})
    store([sent])

    bill = asked(engine, sent.trace_id).transactions[0]
    assert (bill.components[0].time_ns, bill.other_ns, bill.overlap_ns) == (13 * MS, 3 * MS, 6 * MS)
    assert re.search(r"overlap +−6\.000", said(asked(engine, sent.trace_id)))


def test_without_detail_a_sentence_explains_why_there_are_no_calls(shop: Stored) -> None:
    sent = next(sent for sent in shop.sent if not sent.kept)
    shown = said(asked(shop.engine, sent.trace_id))

    assert "Not kept one by one: the fair sample keeps 10 % of all transactions" in shown
    assert "only the bill was kept" in shown


def test_calls_beyond_the_limit_are_counted_not_shown(engine: Engine, store: Store) -> None:
    sent = make(kept="slow", calls=[SentCall("mysql.query", at * 1_000, 900) for at in range(100)])
    sent.attributes = {"walltime.calls_dropped": 23}
    store([sent])
    shown = said(asked(engine, sent.trace_id), most_calls=7)

    assert shown[shown.index("calls in time order") :].count("mysql.query") == 7
    assert "93 later calls not shown: --calls 100" in shown
    assert "23 calls beyond the detail limit" in shown
    assert "every call kept: slow for its kind" in shown


def test_a_failed_statement_shows_its_error_and_the_transaction_failed(shop: Stored) -> None:
    sent = next(sent for sent in shop.sent if sent.is_error)
    bill = asked(shop.engine, sent.trace_id).transactions[0]
    shown = said(asked(shop.engine, sent.trace_id))

    assert bill.is_error
    assert sum(component.errors for component in bill.components) == 1
    assert "failed: OperationalError" in shown
    assert "1 error" in shown


def test_all_transactions_of_a_trace_are_one_tree(engine: Engine, store: Store) -> None:
    front = make("GET /front")
    middle = [make(f"GET /middle/{at}", trace=front.trace_id, parent=front.span_id) for at in range(2)]
    leaf = make("GET /leaf", trace=front.trace_id, parent=middle[0].span_id)
    store([leaf, middle[1], middle[0], front])  # arrival is in no order; started_ns is
    trace = asked(engine, front.trace_id)

    assert [(bill.name, bill.depth) for bill in trace.transactions] == [
        ("GET /front", 0),
        ("GET /middle/0", 1),
        ("GET /leaf", 2),
        ("GET /middle/1", 1),
    ]
    assert "GET /middle/1" in said(trace)
    assert said(trace, span=leaf.span_id).startswith("GET /leaf")
    with pytest.raises(LookupError, match="has no transaction with span id"):
        choose(trace, "f" * 16)


def test_a_transaction_called_by_a_call_of_another_hangs_below_that_one(engine: Engine, store: Store) -> None:
    front = make("GET /front", kept="forced", calls=[SentCall("http.request", MS, 8 * MS)])
    call_id = f"{int(front.span_id, 16) ^ 1 << 40:016x}"
    behind = make("GET /behind", trace=front.trace_id, parent=call_id)
    store([front, behind])

    assert [(bill.name, bill.depth) for bill in asked(engine, front.trace_id).transactions] == [
        ("GET /front", 0),
        ("GET /behind", 1),
    ]


def test_a_missing_caller_and_a_circle_of_callers_still_make_a_tree(engine: Engine, store: Store) -> None:
    lost = make("GET /lost", parent="ab" * 8)
    one = make("GET /one", trace=lost.trace_id)
    two = make("GET /two", trace=lost.trace_id, parent=one.span_id)
    one.parent_span_id = two.span_id
    own = make("GET /own", trace=lost.trace_id)
    own.parent_span_id = own.span_id
    store([lost, one, two, own])
    trace = asked(engine, lost.trace_id)

    assert sorted(bill.name for bill in trace.transactions) == ["GET /lost", "GET /one", "GET /own", "GET /two"]
    assert trace.transactions[0].name == "GET /lost"
    assert "called by span abababababababab (not stored)" in said(trace)


def test_an_unknown_id_is_no_trace(shop: Stored) -> None:
    assert show(shop.engine, "f" * 32) is None


def test_one_trace_is_found_without_reading_the_others(engine: Engine, store: Store) -> None:
    store([make(f"GET /{at % 50}") for at in range(20_000)])
    sent = make("GET /needle", kept="random", calls=[SentCall("render", 0, MS)])
    store([sent])
    for name, table in (("show/transactions", "transactions"), ("show/calls", "spans")):
        plan = engine.query(f"EXPLAIN indexes = 1 {query_text(name)}", {"trace_id": sent.trace_id, "limit": 10})
        text = "\n".join(str(next(iter(line.values()))) for line in plan)
        parts, granules = (int(re.findall(rf"{each}: (\d+)/\d+", text)[-1]) for each in ("Parts", "Granules"))
        assert table in text
        assert granules <= parts + 1, text


def test_no_part_is_opened_that_cannot_have_the_trace(engine: Engine, store: Store) -> None:
    def opened() -> int:
        (row,) = engine.query("SELECT sum(value) AS n FROM system.events WHERE event = 'SelectedParts'")
        return int(row["n"])

    engine.command("SYSTEM STOP MERGES transactions")
    try:
        sent = [make(f"GET /{at}") for at in range(10)]
        for each in sent:
            store([each])  # each insert leaves a part
        before = opened()
        found = run(engine, "show/transactions", trace_id=sent[5].trace_id, limit=10)
        opened_then = opened() - before
    finally:
        engine.command("SYSTEM START MERGES transactions")
    assert [row["name"] for row in found] == ["GET /5"]
    assert opened_then <= 4  # its own; an index is wrong once in 800 times


def test_independent_queries_run_at_the_same_time(engine: Engine, store: Store) -> None:
    sent = make("GET /x", kept="random", calls=[SentCall("render", 0, MS)])
    store([sent])
    all_there, number = threading.Barrier(3, timeout=20), itertools.count()

    class Meeting:
        """The engine, but no question is answered before three are asked; the fourth waits for a free connection."""

        def query(self, *asked: Any) -> Any:
            if next(number) < all_there.parties:
                all_there.wait()
            return engine.query(*asked)

    trace = show(cast(Engine, Meeting()), sent.trace_id)
    assert trace is not None
    assert [call.component for call in trace.transactions[0].calls] == ["render"]


def test_what_an_application_put_into_names_does_nothing_to_the_terminal(engine: Engine, store: Store) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202eGET\r\n [bold]/x[/bold]"
    call = SentCall(
        "evil\x1b[31m",
        0,
        MS,
        {"db.query.text": f"SELECT '{evil}'", "server.address": evil, "server.port": 1, "error.type": evil},
    )
    sent = make(evil, service=evil, kept="\x1b[5mslow", calls=[call], attributes={"user.id": evil, "note\x1b[1m": evil})
    store([sent])
    shown = said(asked(engine, sent.trace_id), width=300)

    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown) is None
    assert "GET [bold]/x[/bold]" in shown
    assert "owned" not in shown


def test_the_bill_fits_every_width(shop: Stored) -> None:
    trace = asked(shop.engine, kept(shop, "GET /recommendations").trace_id)
    for width in (40, 60, 80, 100, 120, 200):
        shown = said(trace, width)
        assert max(len(line.rstrip()) for line in shown.splitlines()) <= width
        assert "http.request" in shown


@pytest.mark.parametrize(
    "text",
    ["4BF92F3577B34DA6A3CE929D0E0E4736", " 4bf92f3577b34da6a3ce929d0e0e4736\n"],
)
def test_a_pasted_trace_id_is_read_in_any_form(text: str) -> None:
    assert parse_trace_id(text) == ("4bf92f3577b34da6a3ce929d0e0e4736", "")


def test_a_whole_traceparent_names_the_transaction_as_well() -> None:
    pasted = "'00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'"
    assert parse_trace_id(pasted) == ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")


@pytest.mark.parametrize("text", ["", "0" * 32, "4bf9", "g" * 32, "4bf92f35-77b3-4da6-a3ce-929d0e0e4736", "'; DROP"])
def test_what_is_no_trace_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        parse_trace_id(text)
    with pytest.raises(ValueError, match="16 hexadecimal digits"):
        parse_span_id(text)


names = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
callers = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("abcdefghxy"), max_size=8)


@given(names, callers)
def test_any_callers_at_all_leave_every_transaction_in_the_tree_once(names: list[str], callers: dict[str, str]) -> None:
    ordered = in_order(names, callers)
    assert sorted(name for name, _ in ordered) == sorted(names)
    depth = dict(ordered)
    for at, (name, deep) in enumerate(ordered):
        if deep:
            caller = callers[name]
            assert depth[caller] == deep - 1
            assert caller in [before for before, _ in ordered[:at]]


@given(callers, names)
def test_any_parents_at_all_give_every_span_one_owner_or_none(parents: dict[str, str], names: list[str]) -> None:
    owner = owners(parents, names)
    for span in parents:
        seen, here = set(), span
        while here not in names and here in parents and here not in seen:
            seen.add(here)
            here = parents[here]
        assert owner[span] == (here if here in names else "")


def test_a_very_long_chain_of_spans_is_walked_once() -> None:
    parents = {str(at): str(at - 1) for at in range(1, 100_000)}
    assert owners(parents, ["0"])["99999"] == "0"


def test_other_and_the_view_are_split_by_their_sampled_lines(engine: Engine, store: Store) -> None:
    json_line = SentSample("shop/serializers.py:88", "to_json", 2, "other", "json.encoder.iterencode", stack="a;b")
    samples = [
        json_line,
        replace(json_line, count=1, stack="a;c"),
        SentSample("shop/views.py:7", "page", component="view", state="lock"),
        SentSample("", "", component="view", state="gil"),
    ]
    sent = make(duration_ns=50 * MS, calls=[SentCall("view", 0, 20 * MS)], samples=samples)
    store([sent])
    trace = asked(engine, sent.trace_id)
    bill = trace.transactions[0]
    assert [vars(each) for each in bill.samples] == [
        {
            **{name: value for name, value in vars(each).items() if name != "count"},
            "samples": each.count,
            "time_ns": each.count * SAMPLE_NS,
            "error_ns": round(math.sqrt(each.count) * SAMPLE_NS),
        }
        for each in samples
    ]
    assert from_json(Trace, json.loads(json.dumps(asdict(trace)))) == trace
    text = " ".join(said(trace, width=160).partition("sampled lines")[2].split())
    assert (
        "other shop/serializers.py:88 to_json 3 samples, 30 ± 17 ms computing in json.encoder.iterencode"
        " view no line of the application 1 sample, 10 ± 10 ms waiting for the GIL"
        " view shop/views.py:7 page 1 sample, 10 ± 10 ms waiting for a lock" in text
    )
    bare = make()
    store([bare])
    assert "sampled" not in said(asked(engine, bare.trace_id))
