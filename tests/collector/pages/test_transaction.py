"""/transactions/{trace}: bill, place, statements with the server's side, calls and the tree of the trace."""

from __future__ import annotations

import json
import re
import time
from html import escape, unescape
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.conversion import from_json
from walltime_collector.format import duration, milliseconds
from walltime_collector.query.answers import Trace
from walltime_collector.query.transaction.place import FEWEST, Place, place
from walltime_collector.query.transaction.wording import KEPT

from tests.collector.conftest import Store, Stored
from tests.collector.pages.conftest import Browser
from tests.collector.query.digesting import keep, log_of
from tests.collector.query.showing import asked, make, said
from tests.collector.traffic import DATABASE, MS, Sent, SentCall, SentSample, Value

HOST, _, PORT = DATABASE.rpartition(":")
UPDATE = "UPDATE stock SET amount = amount - %s WHERE product_id = %s"
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}</script>"


def call(component: str, offset_ms: float, took_ms: float, **said: Value) -> SentCall:
    where: dict[str, Value] = {"server.address": HOST, "server.port": int(PORT)}
    more = {name.replace("__", "."): value for name, value in said.items()}
    return SentCall(component, round(offset_ms * MS), round(took_ms * MS), {**where, **more})


def query(offset_ms: float, took_ms: float, text: str = UPDATE, **said: Value) -> SentCall:
    return call("mysql.query", offset_ms, took_ms, db__query__text=text, **said)


def shown(browser: Browser, sent: Sent, **params: str) -> str:
    response = browser.get(f"/transactions/{sent.trace_id}", params=params)
    assert response.status_code == 200, response.text
    return response.text


def words(page: str) -> str:
    """What a person reads."""
    return " ".join(unescape(re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)).split())


def section(page: str, name: str) -> str:
    (part,) = re.findall(rf'<section aria-labelledby="{name}">.*?(?=<section|</main>)', page, re.DOTALL)
    return words(part)


def waterfall(page: str) -> Any:
    (data,) = re.findall(r'<script type="application/json" id="waterfall-data">(.*?)</script>', page, re.DOTALL)
    return json.loads(data)


def test_the_page_says_what_the_command_says(browser: Browser, shop: Stored) -> None:
    for name in ("GET /product/{id}", "GET /search", "GET /recommendations", "GET /rank"):
        sent = next(each for each in shop.sent if each.name == name and each.kept)
        trace = asked(shop.engine, sent.trace_id)
        page = shown(browser, sent, span=sent.span_id)
        bill, command = section(page, "bill"), " ".join(said(trace, span=sent.span_id, most_calls=10_000).split())
        (mine,) = [each for each in trace.transactions if each.span_id == sent.span_id]
        for component in mine.components:
            assert f"{component.name} {milliseconds(component.time_ns)}" in bill
            assert duration(component.max_ns) in bill
            assert milliseconds(component.time_ns) in command
        assert f"total {milliseconds(mine.duration_ns)} 100 %" in bill
        for sentence in (
            f"{duration(mine.cpu_user_ns or 0)} user",
            f"{duration(mine.queue_ns or 0)} before it started",
        ):
            assert sentence in bill
            assert sentence in command
        assert KEPT[mine.kept] in words(page)
        assert KEPT[mine.kept] in command


def test_its_json_is_the_answers(browser: Browser, shop: Stored) -> None:
    sent = next(each for each in shop.sent if each.name == "GET /product/{id}")
    document = browser.get(f"/transactions/{sent.trace_id}.json").json()
    trace = asked(shop.engine, sent.trace_id)
    assert from_json(Trace, document["trace"]) == trace
    assert from_json(Place, document["place"]) == place(shop.engine, trace.transactions[0])
    assert document["span_id"] == sent.span_id


def test_a_slow_one_is_explained(browser: Browser, engine: Engine, store: Store) -> None:
    usual = [make("GET /slow", calls=[query(1, 2 + at % 7 / 10)]) for at in range(FEWEST + 50)]
    slow = make("GET /slow", duration_ns=700 * MS, calls=[query(1, 3), query(10, 680)], kept="slow")
    slow.attributes = {"http.response.status_code": 503}
    store([*usual, slow])
    page = shown(browser, slow)
    others = section(page, "place")
    assert "The slowest: all 150 others took less time." in others
    assert "mysql.query time 683 ms 2.30 ms 300× highest" in others
    assert "calls 2 1 2× highest" in others
    assert "status 503: none of the others has it, 100 % have succeeded" in others
    assert "the slowest of its kind" in words(page)


def test_without_support_nothing_is_called_unusual(browser: Browser, store: Store) -> None:
    one = make("GET /few", duration_ns=900 * MS, calls=[query(0, 890)])
    store([one, *(make("GET /few") for _ in range(20))])
    others = section(shown(browser, one), "place")
    assert "Only 20 other transactions of this kind: with fewer than 100, no place is given" in others
    assert "Unusual" not in others
    alone = make("GET /lonely")
    store([alone])
    assert "No other transaction of this kind is stored" in section(shown(browser, alone), "place")


def test_the_servers_side_is_beside_the_statement_and_in_the_call(
    browser: Browser, engine: Engine, store: Store
) -> None:
    sent = make("POST /locked", duration_ns=900 * MS, calls=[query(5, 800)], kept="slow")
    store([sent])
    entries = log_of(sent, UPDATE, 795 * MS, lock_ns=790 * MS, rows_examined=5_000, rows_affected=1)
    keep(engine, [*entries, *log_of(sent, "COMMIT", 9 * MS)], "locked")
    page = shown(browser, sent)
    statements = section(page, "statements")
    took = "server 795 ms: 790 ms waited for locks, at most 5.00 ms on a CPU or for the disk"
    assert f"{took} 5,000 rows examined 0 sent 1 row changed network" in statements
    assert "only in the log COMMIT server 9.00 ms" in statements
    server = waterfall(page)["server"]["0"]
    assert [took, "error"] in server
    assert "790 ms waited for locks" in section(page, "calls")  # the table for those who cannot see the drawing


def test_the_waterfall_has_every_call_with_what_can_be_opened(browser: Browser, shop: Stored) -> None:
    sent = next(each for each in shop.sent if each.name == "GET /product/{id}" and each.kept)
    (bill,) = asked(shop.engine, sent.trace_id).transactions
    data = waterfall(shown(browser, sent))
    calls, texts = data["calls"], data["texts"]
    assert data["duration"] == sent.duration_ns
    drawn = [
        (data["names"][name][0], at, took, texts[text], texts[address], texts[result])
        for name, at, took, text, address, result in zip(
            *(calls[column] for column in ("name", "at", "took", "text", "address", "result")), strict=True
        )
    ]
    expected = [
        (each.component, each.offset_ns, each.duration_ns, each.text, each.address, each.result) for each in bill.calls
    ]
    assert drawn == expected
    assert {family for _, family in data["names"]} <= {"mysql", "memcache", "custom"}
    table = section(shown(browser, sent), "calls")
    for each in bill.calls:
        assert f"{duration(each.offset_ns)} {duration(each.duration_ns)} {each.component}" in table


def test_ten_thousand_calls_are_one_small_page_and_a_table_in_pages(browser: Browser, store: Store) -> None:
    calls = [call("memcache.get", at / 10, 0.09, walltime__memcache__key=f"product:#{at:08x}") for at in range(10_000)]
    sent = make("POST /import", duration_ns=1_001 * MS, calls=calls, kept="forced")
    store([sent])
    response = browser.get(f"/transactions/{sent.trace_id}")
    assert len(waterfall(response.text)["calls"]["at"]) == 10_000
    assert response.num_bytes_downloaded < 200_000  # compressed
    table = section(response.text, "calls")
    assert "product:#000000c7" in table  # the 200th
    assert "product:#000000c8" not in table
    assert "later calls" in table
    assert "earlier calls" not in table
    second = section(shown(browser, sent, calls="201"), "calls")
    assert "product:#000000c8" in second
    assert "earlier calls" in second
    last = section(shown(browser, sent, calls="9801"), "calls")
    assert f"product:#{9_999:08x}" in last
    assert "later calls" not in last


def test_the_tree_of_the_trace_links_to_every_transaction(browser: Browser, shop: Stored) -> None:
    sent = next(each for each in shop.sent if each.name == "GET /recommendations")
    (rank,) = [each for each in shop.sent if each.trace_id == sent.trace_id and each.name == "GET /rank"]
    page = shown(browser, sent)
    tree = section(page, "trace")
    assert "2 in 2 services" in tree
    assert f"{duration(rank.started_ns - sent.started_ns)} " in tree
    (link,) = re.findall(rf'href="(/transactions/[^"]+span={rank.span_id}[^"]*)"', page)
    other = browser.get(unescape(link)).text
    assert f"total {milliseconds(rank.duration_ns)}" in section(other, "bill")
    assert "GET /rank this one" in section(other, "trace")
    single = next(each for each in shop.sent if each.name == "GET /search")
    assert 'aria-labelledby="trace"' not in shown(browser, single)


def test_a_trace_is_found_by_its_beginning_and_by_a_traceparent(browser: Browser, shop: Stored) -> None:
    sent = next(each for each in shop.sent if each.name == "GET /recommendations")
    (rank,) = [each for each in shop.sent if each.trace_id == sent.trace_id and each.name == "GET /rank"]
    assert "GET /recommendations" in words(browser.get(f"/transactions/{sent.trace_id[:12]}").text)
    parent = f"00-{rank.trace_id}-{rank.span_id}-01"
    assert f"total {milliseconds(rank.duration_ns)}" in section(browser.get(f"/transactions/{parent}").text, "bill")


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/transactions/nothing", 400, "is not a trace id"),
        (f"/transactions/{'ab' * 16}", 404, "no transaction of trace"),
        ("/transactions/{trace}?span=ffffffff", 404, "has no transaction with span id"),
        ("/transactions/{trace}?calls=0", 400, "is not the number of a call"),
        ("/transactions/{trace}?calls=-1", 400, "is not the number of a call"),
        ("/transactions/{trace}?color=red", 400, "there is no such parameter"),
    ],
)
def test_what_is_wrong_is_said_on_a_page_and_in_json(
    browser: Browser, shop: Stored, path: str, status: int, sentence: str
) -> None:
    path = path.format(trace=shop.sent[0].trace_id)
    page = browser.get(path)
    assert page.status_code == status
    assert sentence in words(page.text).lower()
    head, mark, tail = path.partition("?")
    problem: httpx.Response = browser.get(f"{head}.json{mark}{tail}")
    assert problem.status_code == status
    assert sentence in problem.text


def test_why_there_are_no_calls_is_said(browser: Browser, store: Store) -> None:
    not_kept = make("GET /bill-only", calls=[query(1, 2)])
    not_arrived = make("GET /expired", calls=[], kept="slow", attributes={"walltime.mysql.query.calls": 1})
    empty = make("GET /empty")
    store([not_kept, not_arrived, empty])
    page = shown(browser, not_kept)
    assert "Not kept one by one: the fair sample keeps 10 % of all transactions" in section(page, "calls")
    assert "only the bill was kept" in words(page)
    assert "data-waterfall" not in page
    assert "They were kept, but are not stored" in section(shown(browser, not_arrived), "calls")
    assert "There are none." in section(shown(browser, empty), "calls")


def test_after_the_response_attributes_and_dropped_calls_are_shown(browser: Browser, store: Store) -> None:
    sent = make("GET /after", calls=[query(1, 2)], kept="random")
    sent.attributes = {
        "user.id": "u-17",
        "shop.campaign": "spring",
        "walltime.calls_dropped": 12,
        "walltime.after_response.duration_ns": 35 * MS,
        "walltime.after_response.component": ["http.request"],
        "walltime.after_response.calls": [1],
        "walltime.after_response.time_ns": [30 * MS],
        "walltime.after_response.errors": [1],
    }
    store([sent])
    page = shown(browser, sent)
    assert "it continued for 35.0 ms" in section(page, "after")
    assert "http.request 30.000 1 1" in section(page, "after")
    assert "shop.campaign spring" in section(page, "attributes")
    assert "user u-17" in words(page)
    assert "12 calls beyond the detail limit" in section(page, "calls")


def test_stored_text_stays_text(browser: Browser, engine: Engine, store: Store) -> None:
    hostile: dict[str, Value] = {
        "server.address": EVIL,
        "server.port": 1,
        "walltime.redis.key": EVIL,
        "walltime.redis.result": EVIL,
    }
    calls = [
        SentCall("mysql.query", 0, MS, {"db.query.text": f"SELECT '{EVIL}' FROM `{EVIL}`", "error.type": EVIL}),
        SentCall(EVIL, 2 * MS, MS, {"url.full": EVIL, "code.file.path": EVIL, **hostile}),
        SentCall("redis.get", 4 * MS, MS, hostile),
    ]
    sent = make(EVIL, calls=calls, kept=EVIL, is_error=True, service=EVIL, host=EVIL, version=EVIL)
    sent.attributes = {"error.type": EVIL, "user.id": EVIL, "deployment.environment.name": EVIL, EVIL: EVIL}
    store([sent])
    keep(engine, log_of(sent, f"SELECT '{EVIL}'", 9 * MS), "hostile")
    page = shown(browser, sent)
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "49" not in re.findall(r"onerror=alert\(2\)(?:&gt;|\\u003e)(.{2})", page)
    assert re.findall(r"<[^>]*\son\w+=", page) == []
    assert re.findall(r"<[^>]*\sstyle=", page) == []
    assert escape(EVIL[:8]) in page
    assert len(waterfall(page)["calls"]["at"]) == 3
    assert quote(EVIL, safe="")[:20] in page  # in the link to its kind


def test_links_keep_time_and_filters(browser: Browser, shop: Stored) -> None:
    sent = next(each for each in shop.sent if each.name == "GET /recommendations")
    page = shown(browser, sent, time="last 6h", host="web-1")
    links = [unescape(link) for link in re.findall(r'href="(/(?:kinds|servers|transactions)/[^"]+)"', page)]
    assert [link for link in links if "host=web-1" not in link] == []
    (around,) = [link for link in links if "time=last+6h" not in link]
    assert re.search(r"^/kinds/.*time=2\d{3}-.*Z\.\.2\d{3}-.*Z", around)  # the hour around it


def test_a_transaction_that_has_just_ended_is_not_in_the_future(browser: Browser, store: Store) -> None:
    sent = make("GET /now")
    sent.started_ns = time.time_ns() + 3_000_000_000  # the clock of another machine is ahead
    store([sent])
    assert "()" not in words(shown(browser, sent))


def test_sampled_lines_are_listed_with_their_uncertainty(browser: Browser, store: Store) -> None:
    sample = SentSample(f"shop/{EVIL}.py:88", "to_json", 3, "view", "json.dumps")
    sent = make(duration_ns=50 * MS, samples=[sample])
    store([sent])
    page = shown(browser, sent)
    assert f"view shop/{EVIL}.py:88 to_json 3 samples, 30 ± 17 ms computing in json.dumps" in section(page, "lines")
    assert EVIL not in page
    bare = make()
    store([bare])
    assert 'id="lines"' not in shown(browser, bare)
