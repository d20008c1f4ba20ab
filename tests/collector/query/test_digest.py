"""Every statement from both its ends: what `digest` and `show` say is what the applications and the log said."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import asdict

import pytest
from walltime_collector.cli.digest.text import render
from walltime_collector.cli.drawing.statements import statements
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.conversion import from_json
from walltime_collector.observe.slowlog.entry import Entry
from walltime_collector.query.answers import Bill, Trace
from walltime_collector.query.digest.answer import DIGEST_RANKINGS, Digest, DigestedStatement
from walltime_collector.query.transaction.show import show
from walltime_collector.statements.fingerprint import fingerprint

from tests.collector.conftest import Collector, Store, Stored
from tests.collector.observe.slowlog.real_logs import parsed, percona
from tests.collector.query.digesting import HOUR_S, digest, keep, log_of, said
from tests.collector.traffic import MS, Sent, SentCall


def only(answer: Digest, text: str) -> DigestedStatement:
    (found,) = [each for each in answer.statements if each.fingerprint == fingerprint(text)]
    return found


def test_the_applications_statements_add_up_to_what_was_sent(shop: Stored) -> None:
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    senders: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for sent in shop.sent:
        for call in sent.calls:
            if "db.query.text" in call.attributes:
                text = fingerprint(str(call.attributes["db.query.text"]))
                expected[text][0] += 1
                expected[text][1] += call.duration_ns
                senders[text].add((sent.service, sent.name))
    answer = digest(shop.engine, since_s=HOUR_S, limit=1_000)
    found = {each.fingerprint: each for each in answer.statements if each.client}
    assert set(found) == set(expected)
    for text, (calls, time_ns) in expected.items():
        each = found[text]
        assert each.client is not None
        assert (each.client.calls, each.client.time_ns) == (calls, time_ns)
        assert {(sender.service, sender.name) for sender in each.senders} == senders[text]
        assert sum(sender.time_ns for sender in each.senders) == time_ns
    assert answer.client_ns == sum(time_ns for _, time_ns in expected.values())
    assert abs(sum(each.share for each in answer.statements) - 1) < 1e-9


def test_the_servers_view_is_weighted_and_laid_beside_the_applications(engine: Engine, store: Store) -> None:
    now_ns = time.time_ns()
    sent = Sent("ab" * 16, "cd" * 8, "GET /weighted", now_ns - 60_000 * MS, 100 * MS)
    sent.calls = [
        SentCall("mysql.query", at * MS, 10 * MS, {"db.query.text": "SELECT w FROM weighted WHERE id = %s"})
        for at in range(6)
    ]
    store([sent])
    facts = {"rows_examined": 500, "rows_sent": 1, "lock_ns": 1 * MS, "flags": frozenset({"is_full_scan"})}
    entries = log_of(sent, "SELECT w FROM weighted WHERE id = 42", 4 * MS, 6 * MS, 8 * MS, weight=2, **facts)
    entries += log_of(sent, "select 'nobody''s' from elsewhere", 9_000 * MS, errno=1213)
    keep(engine, entries, "weighted")

    answer = digest(engine, since_s=HOUR_S, limit=1_000)

    each = only(answer, "select w from weighted where id = ?")
    assert each.client is not None
    assert each.server is not None
    assert (each.client.calls, each.client.mean_ns) == (6, 10 * MS)
    assert (each.server.entries, each.server.calls, each.server.time_ns) == (3, 6, 36 * MS)
    assert (each.server.mean_ns, each.server.max_ns) == (6 * MS, 8 * MS)
    assert 6 * MS < each.server.p95_ns <= 8 * MS
    assert (each.server.rows_examined, each.server.rows_sent, each.server.examined_per_row) == (3_000, 6, 500)
    assert each.server.lock_share == pytest.approx(6 / 36)
    assert each.server.full_scan_share == 1
    assert each.server.joined == 3
    assert each.total_ns == 60 * MS
    alone = only(answer, "select ? from elsewhere")
    assert alone.client is None
    assert alone.server is not None
    assert (alone.server.errors, alone.total_ns) == (1, 9_000 * MS)
    assert [(sender.service, sender.name) for sender in alone.senders] == [("shop", "/x")]
    assert answer.statements[0] == alone

    shown = " ".join(said(render(answer)).split())
    assert "client 60.0 ms 6 calls, 10.0 ms each" in shown
    assert "6 logged (in 3 entries), 6.00 ms each" in shown
    assert "500 rows examined for each sent or changed" in shown
    assert "sent by GET /weighted shop 100 %" in shown
    assert from_json(Digest, asdict(answer)) == answer


def test_statements_that_are_always_logged_are_not_multiplied_by_the_rate_limit(engine: Engine) -> None:
    log = b"".join(map(percona, ("0.010000", "0.020000", "12.000000")))
    keep(engine, parsed(log.replace(b"heavy", b"always_logged"))[0], "always logged")
    server = only(digest(engine, since_s=None, limit=1_000), "select always_logged from reports where y=?").server
    assert server is not None
    assert (server.entries, server.calls, server.time_ns) == (3, 201, 15_000 * MS)
    assert (server.rows_examined, server.max_ns) == (402, 12_000 * MS)
    assert 19.9 * MS < server.p95_ns <= 20 * MS


@pytest.mark.parametrize("by", DIGEST_RANKINGS)
def test_statements_can_be_ranked_by_everything_the_help_names(shop: Stored, by: str) -> None:
    answer = digest(shop.engine, since_s=HOUR_S, by=by, limit=3)
    assert len(answer.statements) == 3 < answer.all_statements
    if by == "calls":
        counted = [max(each.client.calls if each.client else 0, each.server.calls if each.server else 0) for each in
                   digest(shop.engine, since_s=HOUR_S, by=by, limit=1_000).statements]  # fmt: skip
        assert counted == sorted(counted, reverse=True)


def test_a_service_has_only_its_own_statements(shop: Stored) -> None:
    answer = digest(shop.engine, since_s=HOUR_S, service="ranker", limit=1_000)
    assert {sender.service for each in answer.statements for sender in each.senders} == {"ranker"}


def test_an_old_log_is_included_when_all_time_is_requested(engine: Engine) -> None:
    keep(engine, [Entry(query_ns=5 * MS, started_us=1_192_484_632_000_000, statement="select of_2007")], "old")
    assert "select of_2007" not in {each.fingerprint for each in digest(engine, since_s=400 * 86_400).statements}
    assert only(digest(engine, since_s=None, limit=1_000), "select of_2007").total_ns == 5 * MS


def test_without_data_the_output_states_what_to_do() -> None:
    nothing = Digest("", "", "total", "", 0, 0, 0, 0, 0, ())
    assert "walltime serve --slow-log" in said(render(nothing))


def test_the_api_answers_and_refuses_like_the_others(collector: Collector) -> None:
    status, document, _ = collector.get("/api/digest?since=1h&limit=2")
    assert status == 200
    assert len(document["statements"]) == 2
    assert from_json(Digest, document).statements[0].total_ns > 0
    for wrong, where in (("by=beauty", "by"), ("since=never", "since"), ("limit=0", "limit"), ("x=1", "'x'")):
        status, document, _ = collector.get(f"/api/digest?{wrong}")
        assert (status, document["error"]["where"]) == (400, where)


def shown_bill(engine: Engine, sent: Sent) -> Bill:
    trace = show(engine, sent.trace_id)
    assert trace is not None
    assert from_json(Trace, asdict(trace)) == trace
    return trace.transactions[0]


def test_show_sets_the_servers_side_beside_each_statement_and_call(engine: Engine, store: Store) -> None:
    sent = Sent("ee" * 16, "0e" * 8, "POST /checkout", time.time_ns() - 30_000 * MS, 900 * MS, kept="slow")
    text, update = "SELECT a FROM seen WHERE id = %s", "UPDATE seen SET a = %s WHERE id = %s"
    sent.calls = [SentCall("mysql.query", at * 10 * MS, (at + 2) * MS, {"db.query.text": text}) for at in range(3)]
    sent.calls += [SentCall("mysql.query", 100 * MS, 700 * MS, {"db.query.text": update})]
    sent.calls += [SentCall("mysql.query", 800 * MS, 5 * MS, {"db.query.text": "SELECT b FROM partly"})] * 3
    sent.calls += [SentCall("mysql.query", 850 * MS, 5 * MS, {"db.query.text": "SELECT c FROM unseen"})]
    store([sent])
    entries = log_of(sent, "SELECT a FROM seen WHERE id = 7", 1 * MS, 2 * MS, 3 * MS, rows_examined=9, rows_sent=1)
    waiting = {"fields": {"Engine_time": "698.5", "Pages_accessed": "5"}, "rows_affected": 1, "rows_examined": 1}
    entries += log_of(sent, "UPDATE seen SET a = 'x' WHERE id = 7", 699 * MS, **waiting)
    entries += log_of(sent, "SELECT b FROM partly", 4 * MS)
    entries += log_of(sent, "COMMIT", 2 * MS)
    entries += log_of(Sent(sent.trace_id, "0f" * 8, "another transaction", sent.started_ns, 1), "COMMIT", 9 * MS)
    keep(engine, entries, "show")

    bill = shown_bill(engine, sent)

    by_text = {statement.text: statement for statement in bill.statements}
    seen, updated, partly = by_text[text].server, by_text[update].server, by_text["SELECT b FROM partly"].server
    assert seen is not None
    assert updated is not None
    assert partly is not None
    assert (seen.entries, seen.calls, seen.query_ns, seen.network_ns) == (3, 3, 6 * MS, 3 * MS)
    assert (seen.rows_examined, seen.rows_sent, seen.likely_row_lock_ns) == (27, 3, 0)
    assert (updated.query_ns, updated.network_ns, updated.rows_affected) == (699 * MS, 1 * MS, 1)
    assert updated.likely_row_lock_ns == pytest.approx(698.5 * MS, abs=2 * MS)
    assert (partly.entries, partly.calls, partly.network_ns) == (1, 3, None)
    assert by_text["SELECT c FROM unseen"].server is None
    assert [(each.text, each.server.query_ns) for each in bill.logged] == [("COMMIT", 2 * MS)]
    beside = [call.server.query_ns if call.server else None for call in bill.calls]
    assert beside == [1 * MS, 2 * MS, 3 * MS, 699 * MS, None, None, None, None]

    shown = " ".join(said(statements(bill), width=160).split())
    assert "server 699 ms: 698 ms in the engine, most likely for a row lock 1 row examined" in shown
    assert "the server's log has 1 of 3" in shown
    assert "not in the server's log" in shown


def test_entries_that_cannot_be_those_calls_are_not_laid_beside_them(engine: Engine, store: Store) -> None:
    sent = Sent("fa" * 16, "0a" * 8, "GET /parallel", time.time_ns() - 20_000 * MS, 900 * MS, kept="slow")
    text = "SELECT p FROM parallel WHERE id = %s"
    sent.calls = [SentCall("mysql.query", at * 10 * MS, 5 * MS, {"db.query.text": text}) for at in range(2)]
    store([sent])
    keep(engine, log_of(sent, "SELECT p FROM parallel WHERE id = 1", 2 * MS, 50 * MS), "parallel")
    bill = shown_bill(engine, sent)
    assert [call.server for call in bill.calls] == [None, None]
    (statement,) = bill.statements
    assert statement.server is not None
    assert statement.server.query_ns == 52 * MS


def test_statements_the_log_cannot_tell_apart_share_one_answer(engine: Engine, store: Store) -> None:
    sent = Sent("fb" * 16, "0b" * 8, "GET /lists", time.time_ns() - 20_000 * MS, 900 * MS)
    lists = ("SELECT l FROM lists WHERE id IN (%s)", "SELECT l FROM lists WHERE id IN (%s, %s)")
    sent.calls = [SentCall("mysql.query", at * 10 * MS, (at + 1) * MS, {"db.query.text": lists[at]}) for at in range(2)]
    store([sent])
    keep(engine, log_of(sent, "SELECT l FROM lists WHERE id IN (5, 6)", 1 * MS, 1 * MS), "lists")
    first, second = shown_bill(engine, sent).statements
    assert first.server is None
    assert second.server is not None
    assert (second.server.statements, second.server.entries, second.server.calls) == (2, 2, 2)
    assert second.server.network_ns == 1 * MS
