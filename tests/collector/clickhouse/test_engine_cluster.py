"""
The statements of a cluster: each parses, and on a cluster of one node (chDB) they have the results of one machine.

No test here has two shards or Keeper: docs/decisions/022 says what is not tested, and why it should work.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.clickhouse.retention import keep
from walltime_collector.clickhouse.schema_files import ONE_MACHINE, on_cluster, schema_files
from walltime_collector.config.settings import Settings
from walltime_collector.errors import EngineUnavailable
from walltime_collector.load.otel_transactions.windows import Window, assemble
from walltime_collector.query.queries import query_text
from walltime_collector.sql.runner import QueryRunner

from tests.clickhouse_server import ClickHouseServer, Fault
from tests.collector.clickhouse.conftest import CLUSTER
from tests.collector.clickhouse.spans import store
from tests.collector.clickhouse.two_engines import Both, count, slow_rows, some_records
from tests.collector.every_question import QUERIES
from tests.collector.load.otel_transactions.traces import requests, trace

COMMENTS = re.compile(r"\A(?:\s|--[^\n]*(?:\n|\Z))*")


def statements(placeholders: Mapping[str, str]) -> dict[str, list[str]]:
    """The statements of each schema file, without the comments before them."""
    return {name: [COMMENTS.sub("", each) for each in made] for name, made in schema_files(placeholders)}


FILES = statements(on_cluster("shop", "walltime"))
MADE = [statement for made in FILES.values() for statement in made]
DOCUMENTED = Path(__file__).parents[3] / "docs" / "cluster.md"


@pytest.fixture(scope="module")
def clickhouse(shared_clickhouse: ClickHouseServer) -> ClickHouseServer:
    return shared_clickhouse


@pytest.fixture(scope="module")
def both(server_and_cluster: tuple[Both, Both]) -> Both:
    return server_and_cluster[1]


# The statements


@pytest.mark.parametrize("name", FILES)
def test_every_statement_of_a_schema_file_parses_and_is_for_all_nodes(engine: Engine, name: str) -> None:
    for made in FILES[name]:
        assert "ON CLUSTER 'shop'" in made.partition("\n")[0]
        assert engine.query(f"EXPLAIN AST {made}")


def made(pattern: str) -> dict[str, str]:
    """The second group of the pattern in the statements that match, by the first."""
    return {match[1]: match[2] for statement in MADE if (match := re.search(pattern, statement, re.DOTALL))}


def test_stored_tables_are_replicated_and_queries_read_all_shards() -> None:
    stored = made(r"\ACREATE TABLE IF NOT EXISTS (\w+)_local .*\bENGINE = (\w+MergeTree\([^)]*\))")
    read = made(r"\ACREATE TABLE IF NOT EXISTS (\w+) .*\bENGINE = Distributed\('shop', 'walltime', '(\w+)'")
    assert {"transactions", "spans", "slow_queries"} <= set(stored)
    for name, engine in stored.items():
        assert re.match(r"Replicated\w*\('/clickhouse/tables/\{shard\}/\{database\}/\{table\}', '\{replica\}'", engine)
        assert read[name] == f"{name}_local"
    assert not [statement for statement in MADE if re.search(r"\bENGINE = (?!Replicated)\w*MergeTree", statement)]


def test_a_trace_is_on_one_shard() -> None:
    sharded = made(r"\ACREATE TABLE IF NOT EXISTS (\w+) .*\bENGINE = Distributed\('shop', 'walltime', '\w+', (.+)\)")
    columns = made(r"\ACREATE TABLE IF NOT EXISTS (\w+)_local ON CLUSTER 'shop'\n(\(.*)ENGINE")
    same_columns = made(r"\ACREATE TABLE IF NOT EXISTS (\w+)_local ON CLUSTER 'shop'\nAS (\w+)_local\b")
    columns |= {name: columns[other] for name, other in same_columns.items()}
    assert sharded.pop("incidents") == "cityHash64(id)"  # all states of an incident are on one
    for name, shard in sharded.items():
        assert shard == ("cityHash64(trace_id)" if "trace_id FixedString(16)" in columns[name] else "0"), name


def test_views_of_entry_tables_send_rows_to_their_shard_and_other_views_write_to_their_own() -> None:
    targets = made(r"\ACREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) ON CLUSTER 'shop' TO (\w+)")
    sources = made(r"\ACREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) .*\bFROM (\w+)")
    entries = {"otlp_traces", "slow_log_entries", "lock_wait_entries"}
    for view, target in targets.items():
        if sources[view] not in entries:
            assert (sources[view][-6:], target[-6:]) == ("_local", "_local"), view
    sent = [target for view, target in targets.items() if not target.endswith("_local")]
    # two views into one table would send the same token, and the rows of the second would be dropped
    assert len(sent) == len(set(sent)) > 1


def test_deduplication_windows_are_as_long_on_a_cluster() -> None:
    one_machine = "\n".join(statement for made in statements(ONE_MACHINE).values() for statement in made)
    windows = re.findall(r"\bnon_(replicated_deduplication_window = \d+)", one_machine)
    assert len(windows) == one_machine.count("MergeTree\n")
    for window in set(windows):
        cluster = "\n".join(MADE).count(f" {window}, replicated_deduplication_window_seconds = 604800")
        assert cluster == windows.count(window)


def test_a_column_is_added_where_the_rows_are_and_where_they_are_read() -> None:
    altered = [" ".join(made.split()[2:7]) for made in MADE if made.startswith("ALTER") and " ADD COLUMN " in made]
    altered = [each for each in altered if "_entries " not in each]  # what is inserted into has no rows
    tables = ("transactions_1m", "statements_1m", "slow_queries", "transactions", "sampled_transactions", "incidents")
    assert set(altered) == {f"{table}{end} ON CLUSTER 'shop' ADD" for table in tables for end in ("_local", "")}
    assert sum("_local " in each for each in altered) == len(altered) / 2


def test_no_query_has_final_which_works_on_each_shard_by_itself() -> None:
    for name in QUERIES:
        assert not re.search(r"\bFINAL\b", query_text(name)), name


# Their results, on a cluster of one node


@pytest.mark.nightly
def test_a_cluster_has_the_tables_of_one_machine_and_those_behind_them(both: Both) -> None:
    names = "SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name"
    plain = {str(row["name"]) for row in both.embedded.query(names)}
    cluster = {str(row["name"]) for row in both.server.query(names)}
    assert plain <= cluster
    assert {name.removesuffix("_local") for name in cluster} == plain
    columns = (
        "SELECT table, name, type, default_kind, default_expression FROM system.columns"
        " WHERE database = currentDatabase() AND NOT endsWith(table, '_local') ORDER BY table, position"
    )
    both.agree(columns)
    both.agree("SELECT name FROM schema_migrations ORDER BY name")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name, count() FROM transactions GROUP BY name ORDER BY name",
        "SELECT count() FROM spans WHERE trace_id IN (SELECT trace_id FROM transactions WHERE is_error)",
        "SELECT count() FROM spans AS s JOIN transactions AS t ON s.trace_id = t.trace_id",
        "DESCRIBE transactions",
    ],
)
def test_a_statement_that_the_guard_accepts_has_the_same_answer(both: Both, sql: str) -> None:
    answers = [
        QueryRunner(each, database).run(sql, name="one", parameters={}, format_name="CSV")
        for each, database in ((both.embedded, "walltime"), (both.server, CLUSTER))
    ]
    assert answers[0] == answers[1]
    assert answers[0].content


def counts(engine: Engine) -> dict[str, int]:
    names = "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed' ORDER BY name"
    return {row["name"]: count(engine, row["name"]) for row in engine.query(names) if row["name"] != "otlp_spans"}


@pytest.mark.nightly
def test_while_a_node_is_away_tables_are_not_created_and_the_next_try_may_succeed(clickhouse: ClickHouseServer) -> None:
    engine = clickhouse.engine("once")
    clickhouse.goes_wrong(Fault("CREATE TABLE IF NOT EXISTS spans ON CLUSTER", run=True, then="error", code=159))
    with pytest.raises(EngineUnavailable, match="159"):
        engine.migrate()
    engine.migrate()
    assert count(engine, "spans") == 0
    engine.close()


@pytest.mark.nightly
def test_a_token_stores_once_through_the_views_and_to_the_shard(clickhouse: ClickHouseServer) -> None:
    first, second = engines = [clickhouse.engine("once") for _ in range(2)]
    first.migrate()
    records = some_records(seed=31)
    clickhouse.goes_wrong(Fault("INSERT INTO otlp_traces", run=True, then="error", times=1))
    with pytest.raises(EngineUnavailable):
        first.insert(records, "a")
    once = counts(first)
    (ids,) = first.query("SELECT uniqExact(span_id) AS n FROM transactions")
    assert once["transactions"] == ids["n"] > 0
    first.insert_rows("slow_log_entries", slow_rows(7), "b")
    once |= {"slow_queries": 7}
    for each in engines:
        each.insert(records, "a")
        each.insert_rows("slow_log_entries", slow_rows(7), "b")
        assert counts(each) == once
    second.insert(records, "c")
    assert counts(first)["transactions"] == 2 * once["transactions"]
    for each in engines:
        each.close()


@pytest.mark.nightly
def test_collectors_start_while_a_node_is_away_once_the_tables_exist(clickhouse: ClickHouseServer, both: Both) -> None:
    clickhouse.goes_wrong(Fault("ON CLUSTER", then="error", code=159, times=9))
    again = clickhouse.engine(CLUSTER)
    again.migrate()
    assert count(again) == count(both.server)
    again.close()
    clickhouse.goes_wrong()


@pytest.mark.nightly
def test_retention_is_changed_where_the_data_is(clickhouse: ClickHouseServer) -> None:
    engine = clickhouse.engine("once")
    engine.migrate()
    assert keep(engine, Settings(retention_spans_days=3)) == {"spans": 3}
    (table,) = engine.query(
        "SELECT create_table_query AS sql FROM system.tables WHERE database = 'once' AND name = 'spans_local'"
    )
    assert "toIntervalDay(3)" in table["sql"]
    engine.close()


@pytest.mark.nightly
def test_a_statement_can_be_stopped_on_a_cluster(both: Both) -> None:
    both.server.stop("a name that nothing has")


@pytest.mark.nightly
def test_inserts_wait_for_all_shards_and_for_the_quorum(clickhouse: ClickHouseServer) -> None:
    engine = clickhouse.engine("once", insert_quorum="2")
    engine.insert_rows("slow_log_entries", slow_rows(1), "quorum")
    sent = clickhouse.seen()["seen"][-1]["target"]
    assert "distributed_foreground_insert=1" in sent
    assert "insert_quorum=2" in sent
    engine.close()


@pytest.mark.nightly
def test_derived_transactions_are_the_same_whichever_collector_assembles_them(
    engine: Engine, clickhouse: ClickHouseServer
) -> None:
    cluster, other = (clickhouse.engine("foreign") for _ in range(2))
    chance, now_s = random.Random(3), int(time.time())
    sent = [each for _ in range(40) for each in trace(chance, time.time_ns() - 10**9)]
    window = Window(now_s - 3600, now_s + 60)
    for each in (engine, cluster):
        each.migrate()
        store(each, requests(sent))
    roots = {assemble(each, window) for each in (engine, cluster, other)}
    bills = "SELECT * FROM transactions WHERE kept = 'foreign' ORDER BY trace_id, span_id"
    assert cluster.query(bills) == engine.query(bills)
    assert len(roots) == 1
    assert 0 < count(cluster) <= roots.pop()
    for each in (cluster, other):
        each.close()


def test_the_documented_statements_are_the_real_ones() -> None:
    filled = statements(on_cluster("walltime", "walltime")).values()
    made = {" ".join(statement.split()) for each in filled for statement in each}
    documented = DOCUMENTED.read_text("utf-8").partition("## Tables")[2]
    (block,) = re.findall(r"```sql.*?\n(.*?)```", documented, re.DOTALL)
    shown = [" ".join(statement.split()) for statement in block.split(";\n") if statement.strip()]
    assert len(shown) == 3
    for statement in shown:
        pattern = re.escape(statement.rstrip(";")).replace("…", ".*")
        assert [each for each in made if re.fullmatch(pattern, each)], statement
