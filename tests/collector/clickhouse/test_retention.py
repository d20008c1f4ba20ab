"""Retention: the tables have the days of the settings, and older rows are removed."""

from __future__ import annotations

import time

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.clickhouse.retention import KEPT, keep, ttls
from walltime_collector.clickhouse.schema_files import ONE_MACHINE, on_cluster, schema_files, statements
from walltime_collector.config.settings import Settings
from walltime_collector.errors import EngineUnavailable
from walltime_collector.spool.segment import Record

from tests.collector.clickhouse.spans import request, span

DAY_NS = 86_400 * 1_000_000_000


def ages(engine: Engine, table: str) -> list[int]:
    rows = engine.query(f"SELECT dateDiff('day', started_at, now64(9)) AS days FROM {table} ORDER BY days")
    return [row["days"] for row in rows]


def test_rows_beyond_the_retention_go_and_the_others_stay(engine: Engine) -> None:
    now_ns = time.time_ns()
    spans = []
    for days in (0, 3, 6, 12, 25):
        started_ns = now_ns - days * DAY_NS
        times = {"start_time_unix_nano": started_ns, "end_time_unix_nano": started_ns + 1_000}
        spans += [span({"walltime.schema": 1}, **times), span({}, **times)]
    engine.insert([Record(now_ns, len(spans), request(*spans).SerializeToString())], "of many days")
    assert ages(engine, "transactions") == [0, 3, 6, 12, 25]
    assert keep(engine, Settings()) == {}
    changed = keep(engine, Settings(retention_transactions_days=20, retention_spans_days=4))
    of_transactions = (
        "transactions",
        "sampled_transactions",
        "slow_queries",
        "lock_waits",
        "mysql_status",
        "cache_status",
    )
    assert changed == {**dict.fromkeys(of_transactions, 20), "spans": 4}
    assert {name: ttls(engine)[name][1] for name in changed} == changed
    for table in ("transactions", "spans"):
        engine.command(f"OPTIMIZE TABLE {table} FINAL")
    deadline_s = time.monotonic() + 60
    while ages(engine, "transactions") != [0, 3, 6, 12] or ages(engine, "spans") != [0, 3]:
        assert time.monotonic() < deadline_s, (ages(engine, "transactions"), ages(engine, "spans"))
        time.sleep(0.1)
    assert keep(engine, Settings(retention_transactions_days=20, retention_spans_days=4)) == {}
    assert set(keep(engine, Settings())) == set(changed)


def test_every_table_whose_rows_go_after_days_follows_a_setting_or_is_known_not_to(engine: Engine) -> None:
    of_their_own = {
        "irregular_spans",
        "sdk_losses",
        "foreign_roots",
        "foreign_windows",
        "foreign_statements",
        "crowded_names",
        "dismissed_advice",
    }
    assert set(ttls(engine)) <= set(KEPT) | of_their_own
    text = "\n".join(statement for _, made in schema_files(ONE_MACHINE) for statement in made)
    for table in set(ttls(engine)) & set(KEPT):
        assert f"CREATE TABLE IF NOT EXISTS {table}\n" in text


def test_what_a_new_table_begins_with_is_what_the_settings_default_to(engine: Engine) -> None:
    for table, (_, days) in ttls(engine).items():
        if table in KEPT:
            assert days == getattr(Settings(), KEPT[table]), table


def test_on_a_cluster_it_is_the_nodes_tables_that_change() -> None:
    days = {"{table}": "spans", "{expression}": "toDateTime(started_at)", "{days}": "3"}
    here = list(statements("retention.sql", {**ONE_MACHINE, **days}))
    there = list(statements("retention.sql", {**on_cluster("four", "walltime"), **days}))
    assert there == [each.replace("TABLE spans", "TABLE spans_local ON CLUSTER 'four'") for each in here]
    assert "MODIFY TTL toDateTime(started_at) + toIntervalDay(3)" in here[-1]


def test_before_the_tables_are_there_it_is_too_early() -> None:
    class Empty:
        def query(self, sql: str) -> list[object]:
            return []

    with pytest.raises(EngineUnavailable, match="not there yet"):
        keep(Empty(), Settings())  # type: ignore[arg-type]  # an engine of which nothing else is asked
