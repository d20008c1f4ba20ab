"""The views for people: the sums of the tables, by the families of Python, read from no more than is needed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest
from walltime_collector.cli.drawing.bars import COLOURS
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query.components import COLUMNS, FAMILIES, FRAMEWORK, MEANINGS, family

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.query.showing import make
from tests.collector.traffic import MS, SentCall, Value

FAMILY_NAMES = ["application" if each == "custom" else each for each in FAMILIES]
ODD = (
    *("mysql", "mysql.", ".mysql", "mysqlx.query", "MySQL.query", "redis.hgetall", "http.retry", "python.gc", "python"),
    *("", ".", "(other)", "other.x", "view.x", "my view", "render", "session.x", "memcache.a.b", "ünï.cödé", "a'b\\"),
)
NAMES = (*COLUMNS, *sorted(FRAMEWORK), "other", *ODD)
VIEWS = {
    "kinds_by_minute": "minute",
    "kinds_each": "started_at",
    "components_by_minute": "minute",
    "components_each": "started_at",
    "servers_by_minute": "minute",
    "servers_each": "started_at",
    "statements_by_minute": "minute",
    "statements_each": "started_at",
}
KIND = "GET /families"
REDIS: Mapping[str, Value] = {"db.system.name": "redis", "server.address": "r1", "server.port": 6379}
MYSQL: Mapping[str, Value] = {"db.system.name": "mysql", "server.address": "db", "db.query.text": "SELECT 1"}


@pytest.fixture(scope="module")
def stored(engine: Engine, store: Store) -> Engine:
    """Transactions with components of all families, in three minutes, of two kinds and two versions."""
    now_ns = time.time_ns() // MINUTE_NS * MINUTE_NS - 10 * MINUTE_NS
    sent = []
    for at in range(30):
        one = make(KIND if at % 3 else "GET /second", duration_ns=80 * MS, version=f"1.{at % 2}", is_error=at % 7 == 0)
        one.started_ns = now_ns + at * MINUTE_NS // 10
        one.calls = [
            SentCall("redis.get", 0, MS * (at + 1), {**REDIS, "walltime.redis.result": "hit" if at % 4 else "miss"}),
            SentCall("mysql.query", MS, 3 * MS, dict(MYSQL)),
            SentCall("mysql.pool", 4 * MS, 2 * MS),
            SentCall("render" if at % 2 else "template.render", 6 * MS, 5 * MS),
            SentCall("view", 11 * MS, 7 * MS),
            SentCall("python.gc", 18 * MS, MS),
            SentCall("http.request", 19 * MS, 4 * MS, {"error.type": "timeout"}),
        ]
        one.attributes = {"http.response.status_code": 500 if at % 7 == 0 else 404 if at % 5 == 0 else 200}
        sent.append(one)
    store(sent)
    return engine


def rows(engine: Engine, sql: str) -> list[dict[str, Any]]:
    return [dict(row) for row in engine.query(sql)]


def test_a_component_has_the_family_that_python_gives_it(engine: Engine) -> None:
    """The view's own expression, on a table of names instead of a bill."""
    (view,) = rows(engine, "SELECT as_select AS sql FROM system.tables WHERE name = 'servers_by_minute'")
    expression = view["sql"].partition("component, multiIf(")[2].partition(") AS family")[0]
    names = "(SELECT arrayJoin({names:Array(String)}) AS component)"
    sql = f"SELECT component, multiIf({expression}) AS family FROM {names}"
    found = {row["component"]: row["family"] for row in engine.query(sql, {"names": NAMES})}
    assert found == {name: "application" if family(name) == "custom" else family(name) for name in NAMES}


def test_the_families_have_the_order_the_colours_and_the_words_of_pages_and_commands(engine: Engine) -> None:
    found = rows(engine, "SELECT * FROM families ORDER BY position")
    assert [row["family"] for row in found] == FAMILY_NAMES
    assert [row["position"] for row in found] == list(range(1, len(FAMILIES) + 1))
    assert [row["colour"] for row in found] == [COLOURS[each] for each in FAMILIES]
    meanings = {name: row["meaning"] for name, row in zip(FAMILIES, found, strict=True)}
    assert {name: meanings[name] for name in MEANINGS} == dict(MEANINGS)


@pytest.mark.usefixtures("stored")
def test_a_kind_has_the_same_sums_by_minute_and_one_by_one(engine: Engine) -> None:
    columns = [
        *("transactions", "errors", "status_4xx", "status_5xx", "duration_ns", "other_ns", "queries"),
        *(f"{each}_ns" for each in FAMILY_NAMES[:-1]),
        *("cpu_ns", "cpu_known", "cpu_wait_ns", "cpu_wait_known", "loop_wait_ns", "loop_wait_known"),
        *("queue_ns", "queue_known", "cache_hits", "cache_misses"),
    ]
    sums = ", ".join(f"sum(v.{each}) AS {each}" for each in columns)
    by_minute, each = (
        rows(engine, f"SELECT service, kind, version, max(v.max_ns), {sums} FROM {view} AS v GROUP BY ALL ORDER BY ALL")
        for view in ("kinds_by_minute", "kinds_each")
    )
    assert by_minute == each
    assert sum(row["transactions"] for row in each) == 30
    assert {name for row in each for name, ns in row.items() if name.endswith("_ns") and ns} >= {
        f"{each}_ns" for each in FAMILY_NAMES if each != "memcache"
    }


@pytest.mark.usefixtures("stored")
def test_components_add_up_to_the_families_of_their_kind(engine: Engine) -> None:
    (kinds,) = rows(engine, f"SELECT {', '.join(f'sum({each}_ns)' for each in FAMILY_NAMES)} FROM kinds_each")
    for view in ("components_by_minute", "components_each"):
        found = rows(engine, f"SELECT family, position, sum(time_ns) AS ns FROM {view} GROUP BY family, position")
        assert {row["family"]: row["ns"] for row in found} == {
            each: ns for each, ns in zip(FAMILY_NAMES, kinds.values(), strict=True) if ns
        }
        assert all(FAMILY_NAMES[row["position"] - 1] == row["family"] for row in found)


@pytest.mark.usefixtures("stored")
def test_a_component_has_the_same_sums_by_minute_and_one_by_one(engine: Engine) -> None:
    sums = ", ".join(f"sum({each})" for each in ("transactions", "calls", "time_ns", "errors", "hits", "misses"))
    by_minute, each = (
        rows(engine, f"SELECT kind, component, {sums} FROM {view} GROUP BY ALL ORDER BY ALL")
        for view in ("components_by_minute", "components_each")
    )
    assert by_minute == each
    assert {row["component"] for row in each} > {"redis.get", "mysql.pool", "mysql.query", "render", "other"}
    assert sum(row["sum(transactions)"] for row in each) == 30
    redis = [row for row in each if row["component"] == "redis.get"]
    assert (sum(row["sum(hits)"] for row in redis), sum(row["sum(misses)"] for row in redis)) == (22, 8)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(("view", "columns"), [("servers", "component, family, server"), ("statements", "statement")])
def test_servers_and_statements_have_the_same_sums_by_minute_and_one_by_one(
    engine: Engine, view: str, columns: str
) -> None:
    sums = ", ".join(f"sum({each}) AS {each}" for each in ("calls", "time_ns", "errors"))
    by_minute, each = (
        rows(engine, f"SELECT kind, {columns}, {sums} FROM {view}{of} GROUP BY ALL ORDER BY ALL")
        for of in ("_by_minute", "_each")
    )
    assert by_minute == each
    assert sum(row["calls"] for row in each) == (60 if view == "servers" else 30)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("view", VIEWS)
def test_conditions_on_service_kind_and_time_reach_the_index(engine: Engine, view: str) -> None:
    moment = "now64(9)" if view.endswith("_each") else "now()"
    condition = f"service = 'shop' AND kind = 'GET /search' AND {VIEWS[view]} > {moment} - INTERVAL 1 HOUR"
    plan = rows(engine, f"EXPLAIN indexes = 1 SELECT count() FROM {view} WHERE {condition}")
    (index,) = [row["explain"] for row in plan if "Condition" in row["explain"] and "service" in row["explain"]]
    assert all(f"({column} " in index or f"({column} in" in index for column in ("service", "name", VIEWS[view])), index


@pytest.mark.parametrize("view", [*VIEWS, "families"])
def test_a_view_is_explained(engine: Engine, view: str) -> None:
    (table,) = rows(engine, f"SELECT comment FROM system.tables WHERE name = '{view}'")
    assert table["comment"].startswith(("A row is ", "The families "))
