"""The pages of statements: both ends, who sends them, the filter by text, and a selected time."""

from __future__ import annotations

import json
import time

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.observe.slowlog.entry import Entry
from walltime_collector.pages import urls
from walltime_collector.statements.fingerprint import fingerprint, fingerprint_id
from walltime_collector.statements.plans.shape import Step, plan_id, to_json
from walltime_collector.statements.plans.words import summary

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.pages.conftest import Browser
from tests.collector.query.digesting import keep, log_of
from tests.collector.traffic import MS, Sent, SentCall

SEARCH = "SELECT id FROM articles WHERE body LIKE %s"
UPDATE = "UPDATE articles SET read_count = %s WHERE id = %s"


def page_of(text: str) -> str:
    return urls.statement(f"{fingerprint_id(fingerprint(text)):016X}")


@pytest.fixture(scope="module", autouse=True)
def sent(engine: Engine, store: Store) -> list[Sent]:
    now_ns = time.time_ns()
    transactions = []
    for at in range(30):
        started_ns = now_ns - (40 if at < 20 else 5) * MINUTE_NS
        each = Sent(f"{at + 1:032x}", f"{at + 1:016x}", "GET /articles", started_ns, 90 * MS, kept="random")
        place = {"code.file.path": "blog/search.py", "code.line.number": "17"}
        each.calls = [SentCall("mysql.query", MS, 40 * MS, {"db.query.text": SEARCH, **place})]
        each.calls += [SentCall("mysql.query", 50 * MS, 2 * MS, {"db.query.text": UPDATE})]
        transactions.append(each)
    store(transactions)
    facts = {"rows_examined": 9_000, "rows_sent": 3, "flags": frozenset({"is_full_scan"})}
    entries = [entry for each in transactions for entry in log_of(each, SEARCH % "'x'", 30 * MS, **facts)]
    started_us = (now_ns - MINUTE_NS) // 1_000
    entries += [Entry(query_ns=70 * MS, started_us=started_us, position=99, statement="ALTER TABLE articles ADD a INT")]
    keep(engine, entries, "articles")
    store_plans(engine)
    return transactions


def store_plans(engine: Engine) -> None:
    """Of SEARCH: one by an index, and a full scan since a minute."""
    rows, now_s = [], int(time.time())
    scan, lookup = Step("full scan", "articles", rows=9_000), Step("lookup", "articles", "body", 1)
    for ago_s, step in ((7_200, lookup), (60, scan)):
        plan = Step("plan", steps=(Step("sort", steps=(step,)),))
        of = {"fingerprint_id": fingerprint_id(fingerprint(SEARCH)), "server": "10.0.0.5:3306", "database": "blog"}
        seen = {"first_seen": f"{now_s - ago_s}", "last_seen": f"{now_s - ago_s + 30}"}
        rows.append({**of, **seen, "plan_id": plan_id(plan), "shape": to_json(plan), "summary": summary(plan)})
    engine.insert_rows("plans", "\n".join(map(json.dumps, rows)).encode(), "plans")


def test_statements_are_ranked_with_both_ends_and_their_senders(browser: Browser) -> None:
    digest = browser.get("/statements.json").json()["digest"]
    first, *_ = digest["statements"]
    assert first["fingerprint"] == fingerprint(SEARCH)
    assert (first["client"]["time_ns"], first["server"]["time_ns"]) == (1_200 * MS, 900 * MS)
    page = browser.get("/statements").text
    assert f'href="{page_of(SEARCH)}"' in page
    assert "3,000 per row, full scan" in " ".join(page.split())
    assert urls.kind("shop", "GET /articles") in page
    assert "no known service" in page
    by_calls = browser.get("/statements.json?by=examined").json()["digest"]["statements"]
    assert by_calls[0]["fingerprint"] == fingerprint(SEARCH)


def test_a_text_filters_them(browser: Browser) -> None:
    found = browser.get("/statements.json?containing=READ_count").json()["digest"]["statements"]
    assert [each["fingerprint"] for each in found] == [fingerprint(UPDATE)]
    page = browser.get("/statements?containing=%3Cnothing%3E&by=calls")
    assert page.status_code == 200
    assert "No statement of this time has this text" in page.text
    assert 'value="&lt;nothing&gt;"' in page.text
    assert '<input type="hidden" name="by" value="calls">' in page.text


def test_a_statement_has_both_ends_its_place_and_examples(browser: Browser, sent: list[Sent]) -> None:
    detail = browser.get(f"{page_of(SEARCH)}.json").json()["detail"]
    assert detail["both_ends"] == {
        "transactions": 30, "calls": 30, "client_ns": 1_200 * MS, "server_ns": 900 * MS,
    }  # fmt: skip
    assert [(each["source"], each["share"]) for each in detail["places"]] == [("blog/search.py:17", 1)]
    page = " ".join(browser.get(page_of(SEARCH)).text.split())
    assert "<dt>application</dt><dd>40.0 ms</dd>" in page
    assert "network and driver</dt><dd>10.0 ms</dd>" in page
    assert "blog/search.py:17" in page
    assert urls.transaction(sent[0].trace_id) in page


def test_a_selection_is_what_the_numbers_are_about(browser: Browser) -> None:
    model = browser.get(f"{page_of(SEARCH)}.json?during=10m..now").json()
    assert model["detail"]["statement"]["client"]["calls"] == 10
    assert model["charts"][0]["step_s"] * len(model["charts"][0]["series"][0]["values"]) >= 3_600
    ranked = browser.get("/statements.json?during=10m..now").json()
    assert ranked["digest"]["statements"][0]["client"]["calls"] == 10


def test_a_statement_that_only_the_log_has_and_wrong_ids(browser: Browser) -> None:
    page = browser.get(page_of("ALTER TABLE articles ADD a INT"))
    assert page.status_code == 200
    assert "no application sent it" in page.text
    assert browser.get("/statements/nonsense").status_code == 400
    assert browser.get("/statements/00000000DEADBEEF").status_code == 404
    assert browser.get("/statements?by=beauty").status_code == 400


def test_without_statements_the_page_states_what_to_do(browser: Browser) -> None:
    assert "walltime serve --slow-log" in browser.get("/statements?service=nobody").text


def test_a_statement_has_its_days_and_plans_and_a_person_may_ask_for_one(browser: Browser) -> None:
    page = " ".join(browser.get(page_of(SEARCH)).text.split())
    assert "index `body` → full scan" in page
    assert "<pre>sort articles: full scan, about 9,000 rows </pre>" in page
    assert "first seen" in page
    assert f'data-explain="{fingerprint_id(fingerprint(SEARCH)):016X}"' in page
    assert "data-explain" not in browser.get(page_of(UPDATE)).text
    history = browser.get(f"{page_of(SEARCH)}.json").json()["detail"]["statement"]["history"]
    assert [each["changed"] for each in history["plans"]] == ["index `body` → full scan", ""]
    assert sum(day["calls"] for day in history["days"]) == 30
