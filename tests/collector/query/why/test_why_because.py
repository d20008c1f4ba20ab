"""'Because' is written where queries follow lost lookups, and 'at the same time' where they only change with them."""

from __future__ import annotations

import json
import re

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query.transaction.show import show
from walltime_collector.query.why.answer import Why
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import Comparison
from walltime_collector.sql.runner import QueryRunner

from tests.by_day import by_day
from tests.collector.conftest import Store
from tests.collector.query.why.lookup_pages import (
    FOLLOW,
    ONE,
    SAME_TIME,
    TWO,
    Page,
    by_page_size,
    compared,
    judged,
    more_rows,
    partly,
    slowest,
    stored,
)  # fmt: skip

SEEDS = 40
KEPT, NOT_KEPT = 0.2, 0.0
NOT_KNOWABLE = {(page, NOT_KEPT) for page in ("all_lost", "by_tenant_unnamed", "by_tenant_with_one_lookup")}
"""Only kept calls can show these: without them the first is called a coincidence; the others look like a cause."""
TRUE = [(page, kept) for kept in (KEPT, NOT_KEPT) for page in FOLLOW if (page, kept) not in NOT_KNOWABLE]
FALSE = [(page, kept) for kept in (NOT_KEPT, KEPT) for page in SAME_TIME if (page, kept) not in NOT_KNOWABLE]


def of_queries(answer: Why) -> str:
    return next(each for each in answer.sentences if each.startswith("mysql.query: "))


@pytest.mark.parametrize(("page", "kept"), by_day(TRUE, 5))
def test_queries_that_follow_lost_lookups_are_explained_by_them(
    engine: Engine, store: Store, page: str, kept: float
) -> None:
    said = of_queries(compared(engine, store, FOLLOW[page], kept=kept))
    cache = {"by_redis": "redis.get"}.get(page, "memcache.get")
    server = TWO if page == "server_is_dead" else ONE
    assert f", because {cache} on {server} " in said
    assert "lost lookups" not in said, said


@pytest.mark.parametrize(("page", "kept"), by_day(FALSE, 5))
def test_queries_that_only_change_at_the_same_time_are_not_blamed_on_the_cache(
    engine: Engine, store: Store, page: str, kept: float
) -> None:
    answer = compared(engine, store, SAME_TIME[page], kept=kept)
    assert "because" not in " ".join(answer.sentences)
    if "by_tenant" not in page:  # there other requests came, which is said first and can be all of it
        assert f"; at the same time memcache.get on {ONE} hits " in of_queries(answer)


def test_of_queries_with_two_causes_those_that_follow_misses_are_counted(engine: Engine, store: Store) -> None:
    said = of_queries(compared(engine, store, partly, kept=KEPT))
    assert "because" not in said
    assert "in `SELECT … FROM seller WHERE id = %s` (0 → 6 calls) and `SELECT … FROM stock WHERE" in said
    assert f" follow lost lookups: memcache.get on {ONE} hits " in said
    words = said.split("; of the ")[1].split()
    more, follow = float(words[0]), float(words[3])
    assert more == pytest.approx(6 + follow, abs=0.5)


def test_without_any_variance_and_without_kept_calls_nothing_is_proven(engine: Engine, store: Store) -> None:
    said = of_queries(compared(engine, store, FOLLOW["all_lost"], kept=NOT_KEPT))
    assert said.endswith(f"; at the same time memcache.get on {ONE} hits 0 % instead of 100 %.")


@pytest.mark.parametrize("page", [FOLLOW["emptied"], by_page_size, slowest], ids=lambda page: str(page.__name__))
def test_the_evidence_of_each_finding_yields_its_numbers(engine: Engine, store: Store, page: Page) -> None:
    name, asked = stored(store, page, kept=0.3)
    if page is slowest:
        asked = Comparison(asked.usual, asked.usual, 5.0)
    answer = explain(engine, name, asked)
    runner = QueryRunner(engine, "walltime")
    of_components = [each for each in answer.findings if each.about == "component"]
    assert of_components
    for finding in of_components:
        assert finding.sentence in answer.sentences
        assert finding.evidence
        content = runner.run(
            finding.evidence.sql, name=finding.subject, parameters={}, format_name="JSONEachRow"
        ).content
        rows = {row["side"]: row for row in map(json.loads, content.splitlines())}
        for key, number in finding.evidence.numbers.items():
            side, _, column = key.partition("_")
            assert float(rows[side][column]) == pytest.approx(number), key
        if finding.subject == "mysql.query" and "because" in finding.sentence:
            assert finding.evidence.traces
            for trace in finding.evidence.traces:
                assert show(engine, trace)
    runner.close()


def test_calls_that_take_longer_for_more_rows_say_so(engine: Engine, store: Store) -> None:
    said = of_queries(compared(engine, store, more_rows, kept=NOT_KEPT))
    assert re.search(r"each call takes [23]\.\d× as long \(.* each\) and returns 3\.0× the rows, \+", said), said


def test_the_slowest_are_those_that_miss_although_neither_part_varies(engine: Engine, store: Store) -> None:
    name, asked = stored(store, slowest, kept=NOT_KEPT)
    said = of_queries(explain(engine, name, Comparison(asked.usual, asked.usual, 3.0)))
    assert f" because memcache.get on {ONE} hits " in said


@pytest.mark.parametrize(("page", "kept"), by_day(TRUE, 17))
def test_because_is_written_in_95_of_100_where_it_is_true(page: str, kept: float) -> None:
    said = [judged(FOLLOW[page], kept=kept, seed=seed) for seed in range(SEEDS)]
    assert sum(is_why for _, is_why in said) >= 0.95 * SEEDS


@pytest.mark.parametrize(("page", "kept"), by_day(FALSE, 16))
def test_because_is_written_in_1_of_100_at_most_where_it_is_false(page: str, kept: float) -> None:
    said = [judged(SAME_TIME[page], kept=kept, seed=seed) for seed in range(SEEDS)]
    assert sum(is_why for _, is_why in said) <= 0.01 * SEEDS
    assert sum(follow > 0 for follow, _ in said) <= 0.05 * SEEDS
