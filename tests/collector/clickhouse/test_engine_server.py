"""The engine on a server keeps the promises of Engine over real HTTP; its answers are the embedded engine's."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walltime_collector.clickhouse.engine import Parameter
from walltime_collector.errors import QueryFailed, StatementRefused
from walltime_collector.sql.runner import QueryRunner

from tests.clickhouse_server import ClickHouseServer
from tests.collector.clickhouse.conftest import SERVER
from tests.collector.clickhouse.two_engines import Both, count
from tests.servers import eventually


@pytest.fixture(scope="module")
def clickhouse(shared_clickhouse: ClickHouseServer) -> ClickHouseServer:
    return shared_clickhouse


@pytest.fixture(scope="module")
def both(server_and_cluster: tuple[Both, Both]) -> Both:
    return server_and_cluster[0]


# The same answers


def test_the_tables_are_the_embedded_engines_tables(both: Both) -> None:
    tables = both.agree(
        "SELECT name, engine, sorting_key, partition_key FROM system.tables"
        " WHERE database = currentDatabase() ORDER BY name"
    )
    assert len(tables) > 6
    both.agree(
        "SELECT table, name, type, default_expression, compression_codec FROM system.columns"
        " WHERE database = currentDatabase() ORDER BY table, position"
    )
    assert both.agree("SELECT name FROM schema_migrations ORDER BY name")


@given(text=st.text(st.characters(exclude_categories=["Cs"])), numbers=st.lists(st.integers(-(2**63), 2**63 - 1)))
@settings(max_examples=50)
def test_a_parameter_is_a_value_whatever_is_in_it(both: Both, text: str, numbers: list[int]) -> None:
    parameters: dict[str, Parameter] = {
        "text": text,
        "texts": [text, "'", text],
        "numbers": numbers,
        "nothing": None,
        "yes": True,
        "share": 0.1,
    }
    (row,) = both.agree(
        "SELECT {text:String} AS text, {texts:Array(String)} AS texts, {numbers:Array(Int64)} AS numbers,"
        " {nothing:Nullable(String)} AS nothing, {yes:Bool} AS yes, {share:Float64} AS share",
        parameters,
    )
    assert row == parameters


def test_a_parameter_too_long_for_a_url_is_answered_too(both: Both, clickhouse: ClickHouseServer) -> None:
    text = "ü&%'" * 20_000
    (row,) = both.agree("SELECT {text:String} AS text", {"text": text})
    assert row == {"text": text}
    assert len(clickhouse.seen()["seen"][-1]["target"]) < 2_000


def test_a_parameter_that_the_query_does_not_name_is_left_out(both: Both) -> None:
    assert both.agree("SELECT '100 %' AS text", {"unused": "x"}) == [{"text": "100 %"}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT number FROM numbers(1000001)",
        "SELECT no_such_column FROM transactions",
        "SELECT 1 FROM no_such_table",
        "SELECT {wanted:String}",
        "INSERT INTO spans SELECT * FROM spans",
        "DROP TABLE spans",
        "SELECT * FROM url('http://127.0.0.1:9/', CSV, 'a String')",
        "SELECT groupArray(repeat('x', 1000000)) FROM numbers(5000)",
    ],
)
def test_the_server_refuses_what_the_embedded_engine_refuses(both: Both, sql: str) -> None:
    before = count(both.server, "spans")
    for engine in (both.embedded, both.server):
        with pytest.raises(QueryFailed, match=r"^Code: \d+"):
            engine.query(sql)
    assert both.agree("SELECT 1 AS n") == [{"n": 1}]
    assert count(both.server, "spans") == before


# Statements from outside


@pytest.mark.parametrize("format_name", ["Native", "JSONCompact", "TabSeparatedWithNames"])
def test_a_statement_is_answered_in_the_requested_format(both: Both, format_name: str) -> None:
    sql = "SELECT service, name, count() FROM transactions GROUP BY ALL ORDER BY ALL -- a comment"
    settings = {"max_result_rows": "1000", "output_format_write_statistics": "0"}
    answers = [each.read(sql, format_name, name="one", settings=settings) for each in (both.embedded, both.server)]
    assert answers[0] == answers[1]
    assert b"product" in answers[0]


def test_settings_of_one_read_do_not_reach_the_next_and_none_writes(both: Both) -> None:
    with pytest.raises(QueryFailed, match="Code: 396"):
        both.server.read("SELECT number FROM numbers(9)", "CSV", name="one", settings={"max_result_rows": "8"})
    assert both.server.read("SELECT count() FROM numbers(9)", "CSV", name="two", settings={}) == b"9\n"
    with pytest.raises(QueryFailed, match="Code: 164"):
        both.server.read("CREATE TABLE t (a Int8) ENGINE = Memory", "CSV", name="three", settings={})


def test_a_read_that_is_stopped_ends(both: Both) -> None:
    failed: list[QueryFailed] = []
    slow = "SELECT sum(sleepEachRow(0.1)) FROM numbers(200)"

    def ask() -> None:
        with pytest.raises(QueryFailed) as error:
            both.server.read(slow, "CSV", name="long", settings={"max_block_size": "1"})
        failed.append(error.value)

    thread = threading.Thread(target=ask)
    thread.start()
    running = "SELECT count() AS n FROM system.processes WHERE Settings['log_comment'] = 'long'"
    eventually(lambda: both.server.query(running)[0]["n"])
    both.server.stop("nobody")
    both.server.stop("long")
    thread.join(10)
    assert "Code: 394" in str(failed[0])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name, count() FROM transactions GROUP BY name ORDER BY name",
        "SHOW TABLES",
        "DESCRIBE transactions",
        "SELECT count() FROM spans WHERE component = {component:String}",
    ],
)
def test_a_statement_that_the_guard_accepts_has_the_same_answer(both: Both, sql: str) -> None:
    answers = [
        QueryRunner(each, database).run(sql, name="one", parameters={"component": "mysql.query"}, format_name="CSV")
        for each, database in ((both.embedded, "walltime"), (both.server, SERVER))
    ]
    assert answers[0] == answers[1]
    assert answers[0].content


def test_the_guard_refuses_the_same_statements_on_a_server(both: Both) -> None:
    guarded = QueryRunner(both.server, SERVER)
    for sql in (
        "SELECT file('/etc/passwd')",
        "SELECT * FROM url('http://127.0.0.1/', CSV, 'a String')",
        "SELECT 1; SELECT 2",
    ):
        with pytest.raises((StatementRefused, QueryFailed)):
            guarded.run(sql, name="one", parameters={})
