"""/sql: the statement of the address, the tables beside it, examples that run; and the places of later views."""

from __future__ import annotations

import json
import re
from html import unescape

import httpx
import pytest
from walltime_collector.pages.views.sql import EXAMPLES, Example

from tests.collector.conftest import Collector
from tests.servers import over_http


def get(collector: Collector, path: str, **params: str) -> httpx.Response:
    return over_http("GET", f"{collector.url}{path}", params=params)


def editor(page: str) -> str:
    """The statement in the editor; HTML drops a line break at its beginning."""
    match = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    assert match is not None
    return unescape(match[1])


@pytest.mark.parametrize(
    "statement",
    ["SELECT 1", "\n\nSELECT 'ä'\n-- </textarea><script>alert(1)</script> & \"x\"", "SELECT 1" + ",1" * 2000],
)
def test_the_statement_of_the_address_is_in_the_editor(collector: Collector, statement: str) -> None:
    shown = get(collector, "/sql", q=statement)
    assert shown.status_code == 200
    assert editor(shown.text) == statement
    assert "<script>alert" not in shown.text


def test_without_a_statement_an_example_is_in_the_editor(collector: Collector) -> None:
    assert editor(get(collector, "/sql").text) == EXAMPLES[0].sql


def test_the_tables_that_people_query_come_first_with_columns_types_and_comments(collector: Collector) -> None:
    tables = get(collector, "/sql.json").json()["tables"]
    names = [each["name"] for each in tables]
    assert names[:3] == ["transactions", "spans", "slow_queries"]
    assert {"otel_traces", "transactions_1m", "walltime_health"} <= set(names)
    columns = {each["name"]: each for each in tables[0]["columns"]}
    assert columns["duration_ns"]["type"] == "UInt64"
    assert "nanoseconds" in columns["duration_ns"]["comment"]
    shown = get(collector, "/sql").text
    assert all(f'data-insert="{name}"' in shown for name in columns)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_every_example_runs(collector: Collector, example: Example) -> None:
    statement = example.sql
    response = over_http("POST", f"{collector.url}/api/sql", json={"sql": statement})
    assert response.status_code == 200, response.text
    answer = json.loads(response.text)
    assert answer["columns"]
    if "transactions\n" in statement and "user" not in statement:
        assert answer["rows"]
