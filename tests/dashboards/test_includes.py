"""The parts that boards' queries are made of give the numbers of the transactions themselves, however they are read."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.spool.segment import Record

from tests import servers
from tests.by_day import by_day
from tests.collector.query.showing import make
from tests.collector.traffic import MS, SentCall, Value, export_request
from tests.dashboards.grafana import ALL, PLUGINS, Plugin, Range, expand

source = pytest.importorskip("dashboards.source")

MINUTE_S = 60
FIRST_S = int(time.time()) // MINUTE_S * MINUTE_S - 20 * MINUTE_S
SHOWN = {
    "minutes and both edges": (FIRST_S + 25, FIRST_S + 5 * MINUTE_S + 10),
    "whole minutes": (FIRST_S, FIRST_S + 6 * MINUTE_S),
    "less than a minute": (FIRST_S + 70, FIRST_S + 100),
    "two parts of minutes": (FIRST_S + 50, FIRST_S + 70),
}
CHOICES: Mapping[str, tuple[Mapping[str, str | Sequence[str]], str]] = {
    "all": ({}, "1"),
    "a kind": ({"service": ["shop"], "kind": ["GET /a"]}, "service = 'shop' AND name = 'GET /a'"),
    "a version": ({"version": ["1.1"]}, "version = '1.1'"),
    "a host": ({"host": ["web-1"]}, "host = 'web-1'"),
    "an annotation": ({"filter": "tenant = it's"}, "attributes['tenant'] = 'it\\'s'"),
    "a host and a version": ({"host": ["web-1"], "version": ["1.0"]}, "host = 'web-1' AND version = '1.0'"),
    "an annotation without a key": ({"filter": " = "}, "0"),
    "no annotation": ({"filter": "tenant"}, "0"),
    "an unknown kind": ({"kind": ["GET /none"]}, "0"),
}
SAME: Mapping[str, tuple[str, str, str]] = {
    "kinds": (
        "kind, sum(transactions), sum(errors), sum(duration_ns), max(max_ns), sum(mysql_ns), sum(application_ns),"
        " sum(other_ns), sum(cpu_ns), sum(queries)",
        "transactions",
        "name, count(), countIf(is_error), sum(duration_ns), max(duration_ns), sum(mysql_query_time_ns),"
        " sum(custom_time_ns['render']), sum(other_ns), 8 * count(), sum(mysql_query_calls)",
    ),
    "components": (
        "kind, sumIf(calls, component = 'mysql.query'), sumIf(time_ns, family = 'application'), sum(transactions)",
        "transactions",
        "name, sum(mysql_query_calls), sum(custom_time_ns['render']), count()",
    ),
    "servers": (
        "kind, server, sum(calls), sum(time_ns), sum(transactions)",
        "transactions ARRAY JOIN target",
        "name, target.address, sum(target.calls), sum(target.time_ns), count()",
    ),
    "statements": (
        "kind, statement, sum(calls), sum(time_ns), sum(transactions)",
        "transactions ARRAY JOIN statement",
        "name, statement.text, sum(statement.calls), sum(statement.time_ns), count()",
    ),
}
"""Include → its columns, and the same of the transactions: table and columns."""
NOTHING_CHOSEN = {**{name: [ALL] for name in ("service", "kind", "version", "host", "environment")}, "filter": ""}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = EmbeddedEngine(servers.with_tables(tmp_path_factory.mktemp("includes")), "walltime")
    engine.migrate()
    sent = []
    for at in range(6 * MINUTE_S):
        one = make("GET /a" if at % 3 else "GET /b", duration_ns=(20 + at % 50) * MS, host=f"web-{at % 2}")
        one.version, one.is_error = f"1.{at // 7 % 2}", at % 11 == 0
        one.started_ns = (FIRST_S + at) * 1_000_000_000 + at * 2_000_000
        statement: dict[str, Value] = {"server.address": "db", "db.query.text": f"SELECT {at % 2}"}
        one.calls = [SentCall("mysql.query", 0, (1 + at % 9) * MS, statement), SentCall("render", 10 * MS, 2 * MS)]
        one.attributes = {"walltime.cpu_user_ns": 7, "walltime.cpu_system_ns": 1}
        one.attributes["tenant"] = "it's" if at % 5 else "another"
        sent.append(one)
    sent.append(make("walltime doctor", service="walltime.doctor"))
    sent[-1].started_ns = FIRST_S * 1_000_000_000 + 90_000_000_000
    engine.insert([Record(time.time_ns(), len(sent), export_request(sent))], "includes")
    yield engine
    engine.close()


def ask(engine: Engine, sql: str, shown: Range, chosen: Mapping[str, Any]) -> list[list[Any]]:
    included = source.included(sql, "")
    return [list(row.values()) for row in engine.query(expand(included, "4", shown, {**NOTHING_CHOSEN, **chosen}))]


@pytest.mark.parametrize(("window", "choice"), by_day(itertools.product(SHOWN, CHOICES), 2))
def test_kinds_components_servers_and_statements_are_those_of_the_transactions(
    engine: Engine, window: str, choice: str
) -> None:
    shown, (chosen, condition) = Range(*SHOWN[window], interval_s=1), CHOICES[choice]
    where = (
        f"started_at >= fromUnixTimestamp64Nano({shown.from_s * 10**9}) AND service != 'walltime.doctor'"
        f" AND started_at < fromUnixTimestamp64Nano({shown.to_s * 10**9}) AND ({condition})"
    )
    for include, (columns, table, expected) in SAME.items():
        sql = f"-- include window\nSELECT {columns} FROM\n-- include {include}\nGROUP BY ALL ORDER BY ALL"
        found = ask(engine, sql, shown, chosen)
        one_by_one = engine.query(f"SELECT {expected} FROM {table} WHERE {where} GROUP BY ALL ORDER BY ALL")
        assert found == [list(row.values()) for row in one_by_one], include
        assert bool(found) == (condition != "0")


@pytest.mark.parametrize("interval_s", [1, 2, 60, 120])
@pytest.mark.parametrize("window", ["minutes and both edges", "whole minutes"])
def test_points_add_up_to_the_window_and_are_wide_enough(engine: Engine, window: str, interval_s: int) -> None:
    shown = Range(*SHOWN[window], interval_s)
    sql = "-- include points\nSELECT transactions, seconds, point_s FROM\n-- include kind_points\nORDER BY time"
    points = ask(engine, sql, shown, {})
    whole = shown.to_s - shown.from_s
    assert sum(transactions for transactions, *_ in points) == whole
    assert sum(seconds for _, seconds, _ in points) == whole
    # one transaction a second: 30 in a point, but 20 points at least
    assert {point_s for *_, point_s in points} == {max(interval_s, 15 if whole < 300 else 20)}


def test_points_are_as_wide_as_the_transactions_of_a_host_need(engine: Engine) -> None:
    """By an estimate: sums per minute know no host."""
    shown = Range(*SHOWN["whole minutes"], interval_s=1)
    for chosen, (condition, one_in) in ({}, ("service = 'shop'", 1)), ({"host": ["web-1"]}, ("host = 'web-1'", 16)):
        table = "transactions" if one_in == 1 else "sampled_transactions"
        ((in_window,),) = ask(engine, "-- include points\nSELECT in_window", shown, chosen)
        ((number,),) = (row.values() for row in engine.query(f"SELECT count() FROM {table} WHERE {condition}"))
        assert in_window == number * one_in > 0


def test_a_series_has_every_point_and_folds_what_is_small(engine: Engine) -> None:
    shown = Range(*SHOWN["minutes and both edges"], interval_s=30)
    for by, of, names in (
        ("component", "all", {"mysql.query", "render", "other"}),
        ("family", "all", {"mysql", "application", "other"}),
        ("kind", "mysql", {"GET /a", "GET /b"}),
    ):
        part = f"-- include series by={by} share=of_time of={of}"
        found = ask(engine, f"-- include points\nSELECT time, series, time_ns FROM\n{part}\nORDER BY time", shown, {})
        assert {series for _, series, _ in found} == names
        assert len(found) == len(names) * len({at for at, *_ in found})


@pytest.mark.parametrize("plugin", PLUGINS)
@pytest.mark.parametrize(
    ("shown", "expected"), [((0, 3600), (0, 3600)), ((14, 3629), (0, 3615)), ((31, 44), (30, 45)), ((29, 31), (15, 30))]
)
def test_the_time_shown_is_whole_steps_and_one_at_least(
    engine: Engine, shown: tuple[int, int], expected: tuple[int, int], plugin: Plugin
) -> None:
    begin, end = "($__fromTime)", "($__toTime)"
    sql = source.rounded(f"SELECT toUnixTimestamp({begin}), {begin}, toUnixTimestamp({end}), {end}")
    of_shown = Range(FIRST_S + shown[0], FIRST_S + shown[1], interval_s=1)
    ((from_s, first, to_s, last),) = (row.values() for row in engine.query(expand(sql, plugin, of_shown, {})))
    assert (from_s - FIRST_S, to_s - FIRST_S) == expected
    assert [int(datetime.fromisoformat(f"{at}+00:00").timestamp()) for at in (first, last)] == [from_s, to_s]


def test_an_edge_of_a_window_reads_no_whole_table(engine: Engine) -> None:
    """Half a minute beside whole minutes: the index has the conditions on the time."""
    shown = Range(*SHOWN["minutes and both edges"], interval_s=60)
    sql = source.included("-- include window\nSELECT sum(transactions) FROM\n-- include kinds", "")
    plan = engine.query("EXPLAIN indexes = 1 " + expand(sql, "4", shown, NOTHING_CHOSEN))
    conditions = [row["explain"] for row in plan if "Condition:" in row["explain"]]
    assert sum("minute" in condition for condition in conditions) >= 1
    assert sum("started_at" in condition for condition in conditions) >= 1
