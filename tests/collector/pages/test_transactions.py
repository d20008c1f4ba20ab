"""The page of transactions: a list by a condition, in any order, page by page."""

from __future__ import annotations

import json
import re
import time

import pytest
from walltime_collector.clickhouse.engine import Engine

from tests.collector.pages.conftest import Browser
from tests.collector.query.condition.rows import make_rows


@pytest.fixture(scope="module", autouse=True)
def rows(engine: Engine) -> None:
    rows = [{**row, "lock_ns": None} for row in make_rows(240, time.time_ns() - 60 * 10**9)]
    stored = [{name: value for name, value in row.items() if name != "lock_ns"} for row in rows]
    engine.insert_rows("transactions", "\n".join(map(json.dumps, stored)).encode(), "rows")


def test_the_page_lists_sorts_and_turns(browser: Browser) -> None:
    scope = {"time": "last 1d", "where": "status = 5xx", "sort": "mysql.time"}
    first = browser.get("/transactions.json", params=scope).json()["matches"]
    assert len(first["matches"]) == 50
    second = browser.get("/transactions.json", params={**scope, "after": first["next"]}).json()["matches"]
    assert second["matches"][0]["sort_value"] <= first["matches"][-1]["sort_value"]
    page = browser.get("/transactions", params=scope)
    assert page.status_code == 200
    assert "By mysql.time, the largest first" in page.text
    assert re.search(rf"after=\d{{19}}-\d{{19}}-{first['next'].split('-', 2)[2]}", page.text)  # the time goes on
    assert f"/transactions/{first['matches'][0]['trace_id']}" in page.text


def test_an_empty_list_and_a_wrong_order_say_what_to_do(browser: Browser) -> None:
    assert "No transaction of this time matches" in browser.get("/transactions?where=user%20%3D%20nobody").text
    wrong = browser.get("/transactions?sort=colour")
    assert wrong.status_code == 400
    assert "duration" in wrong.text
