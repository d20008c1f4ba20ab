"""A server's tables and a cluster's have the rows of the embedded engine's, and give the same answers."""

from __future__ import annotations

import pytest

from tests.collector.clickhouse.two_engines import Both
from tests.collector.every_question import QUERIES, Questions


@pytest.fixture(scope="module", params=["server", pytest.param("cluster", marks=pytest.mark.nightly)])
def both(request: pytest.FixtureRequest, server_and_cluster: tuple[Both, Both]) -> Both:
    return server_and_cluster[request.param == "cluster"]


@pytest.mark.parametrize("table", ["transactions", "spans", "slow_queries"])
def test_inserted_rows_are_the_same_in_every_column(both: Both, table: str) -> None:
    rows = both.agree(f"SELECT * FROM {table} ORDER BY started_at, trace_id, span_id")
    assert len(rows) >= (600 if table == "transactions" else 20)


def test_the_main_commands_have_the_embedded_engines_answers(both: Both, by_commands: Questions) -> None:
    assert {name.partition("/")[0] for name in by_commands} > {"kinds", "digest", "show", "find", "why"}
    assert both.answer_everything_alike(by_commands) > 50


@pytest.mark.nightly
@pytest.mark.parametrize("name", QUERIES)
def test_every_query_has_the_embedded_engines_answer(both: Both, everything: Questions, name: str) -> None:
    both.answer_alike(everything[name])


@pytest.mark.nightly
def test_every_query_has_the_embedded_engines_answer_with_all_parameters(both: Both, everything: Questions) -> None:
    both.answer_everything_alike(everything)
