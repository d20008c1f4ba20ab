"""One statement in detail, and the digest of a scope, against the same sums over what was sent and logged."""

from __future__ import annotations

import time
from collections import defaultdict

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import NotStored
from walltime_collector.query.digest.detail import statement
from walltime_collector.query.digest.over_time import statements_over_time
from walltime_collector.query.digest.rank import digest_of
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.windows import Window
from walltime_collector.statements.fingerprint import fingerprint, fingerprint_id

from tests.collector.conftest import MINUTE_NS, Store, Stored
from tests.collector.query.digesting import keep, log_of
from tests.collector.traffic import MS, Sent, SentCall, Value

S_NS = 1_000_000_000
PRODUCT = "SELECT * FROM product WHERE product_id = %s"


def of(text: str) -> int:
    return fingerprint_id(fingerprint(text))


def in_scope(sent: list[Sent], scope: Scope) -> list[Sent]:
    return [
        each
        for each in sent
        if scope.window.start_ns <= each.started_ns < scope.window.end_ns
        and scope.filters.kind in ("", each.name)
        and (scope.filters.status != "failed" or each.is_error)
    ]


def window_of(shop: Stored, longer_ns: int) -> Window:
    started = [each.started_ns for each in shop.sent]
    return Window(min(started) + 100 * S_NS - longer_ns, max(started) - 33 * S_NS)


@pytest.mark.parametrize("longer_ns", [0, 180 * MINUTE_NS], ids=["short steps", "whole minutes and the rest"])
@pytest.mark.parametrize("filters", [Filters(), Filters(kind="GET /product/{id}"), Filters(status="failed")], ids=str)
def test_the_statements_of_a_scope_add_up(shop: Stored, filters: Filters, longer_ns: int) -> None:
    scope = Scope(window_of(shop, longer_ns), filters)
    wanted: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for sent in in_scope(shop.sent, scope):
        for call in sent.calls:
            if "db.query.text" in call.attributes:
                sums = wanted[fingerprint(str(call.attributes["db.query.text"]))]
                sums[0] += 1
                sums[1] += call.duration_ns
    answer = digest_of(shop.engine, scope, limit=1_000)
    assert {
        each.fingerprint: [each.client.calls, each.client.time_ns] for each in answer.statements if each.client
    } == wanted


@pytest.mark.parametrize("longer_ns", [0, 180 * MINUTE_NS], ids=["short steps", "whole minutes and the rest"])
def test_a_statement_adds_up_in_every_step(shop: Stored, longer_ns: int) -> None:
    scope = Scope(window_of(shop, longer_ns))
    detail = statement(shop.engine, scope, of(PRODUCT))
    wanted: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    transactions: list[tuple[int, int, str]] = []
    for sent in in_scope(shop.sent, scope):
        calls = [call for call in sent.calls if call.attributes.get("db.query.text") == PRODUCT]
        if calls:
            cell = wanted[(sent.started_ns - detail.over_time.steps.start_ns) // (detail.over_time.steps.step_s * S_NS)]
            cell[0] += len(calls)
            cell[1] += sum(call.duration_ns for call in calls)
            cell[2] += sum("error.type" in call.attributes for call in calls)
            transactions.append((sum(call.duration_ns for call in calls), len(calls), sent.trace_id))
    assert detail.texts == (PRODUCT,)
    assert len(detail.over_time.sums) == detail.over_time.steps.count
    sums = enumerate(detail.over_time.sums)
    assert {at: [each.calls, each.time_ns, each.errors] for at, each in sums if each.calls} == wanted
    assert detail.statement.client is not None
    assert detail.statement.client.calls == sum(each.calls for each in detail.over_time.sums)
    slowest = sorted(transactions, reverse=True)
    shown = [(each.time_ns, each.calls, each.trace_id) for each in detail.slowest]
    assert shown == slowest[: len(shown)]
    assert len(shown) == min(10, len(slowest))


def test_the_places_that_send_a_statement_are_estimated_from_kept_calls(engine: Engine, store: Store) -> None:
    now_ns, text = time.time_ns(), "SELECT p FROM placed WHERE id = %s"
    sent = []
    for at in range(40):
        each = Sent(f"{at + 1:032x}", f"{at + 1:016x}", "GET /placed", now_ns - MINUTE_NS - at, 100 * MS)
        each.kept = ("random", "slow", "")[at % 3]
        line, took_ns = (17, 30 * MS) if at % 6 else (90, 10 * MS)
        place: dict[str, Value] = {
            "code.file.path": "shop/placed.py",
            "code.line.number": line,
            "code.function.name": "read",
        }
        each.calls = [SentCall("mysql.query", MS, took_ns, {"db.query.text": text, **place})]
        sent.append(each)
    store(sent)
    detail = statement(engine, Scope(Window(now_ns - 10 * MINUTE_NS, now_ns)), of(text))
    assert (detail.sample.transactions, detail.sample.calls, detail.sample.is_fair) == (14, 14, True)
    assert [(each.service, each.name, each.source) for each in detail.places] == [
        ("shop", "GET /placed", "shop/placed.py:17 read"),
        ("shop", "GET /placed", "shop/placed.py:90 read"),
    ]
    assert [each.calls_share for each in detail.places] == pytest.approx([7 / 14, 7 / 14])
    assert [each.mean_ns for each in detail.places] == [30 * MS, 10 * MS]
    assert sum(each.share for each in detail.places) == pytest.approx(1)


def test_without_a_random_sample_all_kept_calls_are_shown_and_it_is_stated(engine: Engine, store: Store) -> None:
    now_ns, text = time.time_ns(), "SELECT s FROM slow_ones"
    sent = Sent("5e" * 16, "5e" * 8, "GET /slow", now_ns - MINUTE_NS, 900 * MS, kept="slow")
    sent.calls = [SentCall("mysql.query", MS, 800 * MS, {"db.query.text": text})]
    store([sent])
    detail = statement(engine, Scope(Window(now_ns - 10 * MINUTE_NS, now_ns)), of(text))
    assert (detail.sample.transactions, detail.sample.calls, detail.sample.is_fair) == (1, 1, False)
    assert [each.source for each in detail.places] == [""]


def test_both_ends_of_the_same_calls_are_compared(engine: Engine, store: Store) -> None:
    now_ns, text = time.time_ns(), "UPDATE both SET ends = %s"
    whole = Sent("b0" * 16, "b0" * 8, "POST /both", now_ns - MINUTE_NS, 500 * MS)
    whole.calls = [SentCall("mysql.query", at * MS, (at + 5) * MS, {"db.query.text": text}) for at in range(3)]
    partly = Sent("b1" * 16, "b1" * 8, "POST /both", now_ns - MINUTE_NS, 500 * MS)
    partly.calls = whole.calls * 2
    store([whole, partly])
    facts = {"rows_examined": 90, "rows_affected": 1, "lock_ns": 2 * MS, "flags": frozenset({"is_full_scan"})}
    keep(engine, log_of(whole, "UPDATE both SET ends = 'x'", 4 * MS, 5 * MS, 6 * MS, **facts), "both")
    keep(engine, log_of(partly, "UPDATE both SET ends = 'y'", 40 * MS), "partly")

    for filters in (Filters(), Filters(kind="POST /both")):
        detail = statement(engine, Scope(Window(now_ns - 10 * MINUTE_NS, now_ns), filters), of(text))
        assert detail.both_ends is not None
        assert (detail.both_ends.transactions, detail.both_ends.calls) == (1, 3)
        assert (detail.both_ends.client_ns, detail.both_ends.server_ns) == (18 * MS, 15 * MS)
        assert detail.statement.server is not None
        assert (detail.statement.server.entries, detail.statement.server.time_ns) == (4, 55 * MS)
        assert sum(each.logged_calls for each in detail.over_time.sums) == 4
        assert sum(each.logged_ns for each in detail.over_time.sums) == 55 * MS
        assert [(each.query_ns, each.trace_id) for each in detail.logged[:2]] == [
            (40 * MS, partly.trace_id),
            (6 * MS, whole.trace_id),
        ]
        assert (detail.logged[1].rows_examined, detail.logged[1].locked_ns, detail.logged[1].is_full_scan) == (
            90,
            2 * MS,
            True,
        )
    nothing = digest_of(engine, Scope(Window(now_ns - 10 * MINUTE_NS, now_ns), Filters(kind="GET /elsewhere")))
    assert nothing.entries == 0


def test_a_statement_that_is_only_in_the_log_has_no_application(engine: Engine, store: Store) -> None:
    now_ns = time.time_ns()
    unsent = Sent("00" * 16, "00" * 8, "", now_ns - MINUTE_NS, 0)
    keep(engine, log_of(unsent, "SELECT only FROM logged", 70 * MS), "only logged")
    detail = statement(engine, Scope(Window(now_ns - 10 * MINUTE_NS, now_ns)), of("SELECT only FROM logged"))
    assert (detail.texts, detail.places, detail.slowest, detail.both_ends) == ((), (), (), None)
    assert [each.trace_id for each in detail.logged] == [""]


def test_the_statements_with_the_most_time_add_up_over_time(shop: Stored) -> None:
    scope = Scope(window_of(shop, 0))
    found = statements_over_time(shop.engine, scope, 3)
    ranked = digest_of(shop.engine, scope, by="client", limit=3).statements
    assert [each.fingerprint for each in found] == [each.fingerprint for each in ranked]
    for each, whole in zip(found, ranked, strict=True):
        assert whole.client is not None
        assert sum(sums.time_ns for sums in each.sums) == whole.client.time_ns
        assert sum(sums.calls for sums in each.sums) == whole.client.calls


def test_over_time_may_be_of_another_window(shop: Stored) -> None:
    scope, charted = Scope(window_of(shop, 0)), Scope(window_of(shop, 180 * MINUTE_NS))
    detail = statement(shop.engine, scope, of(PRODUCT), charted)
    assert detail.over_time == statement(shop.engine, charted, of(PRODUCT)).over_time
    assert detail.statement == statement(shop.engine, scope, of(PRODUCT)).statement


@pytest.mark.parametrize("containing", ["FROM  Reviews", "reviews where"])
def test_a_digest_can_be_filtered_by_text(shop: Stored, containing: str) -> None:
    found = digest_of(shop.engine, Scope(window_of(shop, 0)), containing=containing)
    assert [each.fingerprint for each in found.statements] == ["select * from reviews where product_id = ?"]
    assert found.all_statements == 1
    assert digest_of(shop.engine, Scope(window_of(shop, 0)), containing="nowhere").statements == ()
    identity = found.statements[0].fingerprint_id.lower()
    assert digest_of(shop.engine, Scope(window_of(shop, 0)), containing=identity).statements == found.statements


def test_an_unknown_statement_is_named(shop: Stored) -> None:
    with pytest.raises(NotStored, match="no statement with the id 00000000DEADBEEF"):
        statement(shop.engine, Scope(window_of(shop, 0)), 0xDEADBEEF)
