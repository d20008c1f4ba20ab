"""What an asker may not read comes out by no way: neither as an answer nor in the text of an error."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import QueryFailed, StatementRefused
from walltime_collector.sql.guard.messages import public
from walltime_collector.sql.runner import QueryRunner

from tests.growth.growth import is_steep

SECRET = "canary"
VISIBLE = {
    "tables": ("name", "comment"),
    "columns": ("default_expression", "comment"),
    "databases": ("engine", "comment"),
    "functions": ("name",),
    "settings": ("value",),
    "data_skipping_indices": ("name", "expr"),
}
# Each fails on a text that it does not expect, most with the text in the error.
FAILING = [
    *("toUInt8({})", "toDate({})", "toUUID({})", "toDecimal32({}, 2)", "toIPv4({})", "parseDateTime({}, '%Y')"),
    *("CAST({} AS Enum8('q' = 1))", "CAST({} AS Array(UInt8))", "accurateCast({}, 'Int8')", "{}::Tuple(a UInt8)"),
    *("throwIf({} LIKE '%canary%')", "parseReadableSize({})", "toFixedString({}, 1)", "base64Decode({})"),
    *("dateTrunc({}, now())", "toTimezone(now(), {})", "IPv4StringToNum({})", "parseTimeDelta({})"),
    *("intDiv(1, length({}) - length({}))", "toDateTime64({}, 3)", "JSONExtract({}, 'UInt8')", "match('x', {})"),
]
PLACES = [
    "SELECT name FROM system.{table} WHERE ignore({failing}) = 0",
    "SELECT {failing} FROM system.{table}",
    "SELECT count() FROM system.{table} GROUP BY {failing}",
    "SELECT max(name) FROM system.{table} HAVING max({failing}) = max({failing})",
    "SELECT a.name FROM system.{table} AS a JOIN (SELECT 1 AS k) AS b ON ignore({failing}) + 1 = b.k",
    "SELECT name FROM system.{table} ORDER BY {failing} LIMIT 1",
    "SELECT 1 IN (SELECT ignore({failing}) FROM system.{table})",
    "SELECT name FROM (SELECT * FROM system.{table}) WHERE ignore({failing}) = 0 AND name != ''",
]
FILTERED = [
    "system.tables",
    "tables",
    "system.columns",
    "system.settings",
    "system.one",
    "t",
    "",
    "canaries.canary_table",
    "canary_table",
    "default.schema_migrations",
    "walltime.system.tables",
    "Walltime.transactions",
    "`walltime`.transactions",
]
SETTINGS = [
    "additional_result_filter = 'toUInt8(name)'",
    "additional_table_filters = {'transactions': 'toUInt8((SELECT any(name) FROM system.databases))'}",
    "additional_table_filters = {'transactions': 'name IN (SELECT name FROM canaries.canary_table)'}",
    "additional_table_filters = {'transactions': 'name IN canaries.canary_table'}",
    "additional_table_filters = {'transactions': 'dictGet(\\'d\\', \\'a\\', 1)'}",
    "additional_table_filters = {'transactions': 1}",
    "additional_table_filters = {'transactions': ['1']}",
    "final = 1",
    "enable_analyzer = 0",
    "allow_experimental_analyzer = 0",
    "param_x = 1",
    "implicit_select = 1",
    "log_comment = 'x'",
    "format_schema = 'x'",
    "output_format_schema = '/tmp/x'",
    "max_threads = -1",
    "max_execution_time = 'x'",
    "session_timezone = 'x y'",
    "readonly = 0",
    "limit = 1",
    "SQL_x = 1",
    "custom_a = 1",
    "cluster_for_parallel_replicas = 'x'",
    "use_query_cache = 1",
    "workload = 'x'",
    "profile = 'default'",
    "output_format_parquet_row_group_size = 1",
    "output_format_parquet_row_group_size = 0",
    "output_format_parquet_row_group_size_bytes = 999",
    "output_format_parquet_data_page_size = 1",
    "output_format_arrow_record_batch_size = 1",
]


@pytest.fixture(scope="module")
def runner(engine: Engine) -> Iterator[QueryRunner]:
    """Beside Walltime's database there is another one, which only the owner of the machine may read."""
    engine.command("CREATE DATABASE canaries COMMENT 'canary comment'")
    engine.command(
        "CREATE TABLE canaries.canary_table (canary_column String DEFAULT 'canary default' COMMENT 'canary comment',"
        " INDEX canary_index concat(canary_column, 'canary') TYPE minmax)"
        " ENGINE = MergeTree ORDER BY canary_column COMMENT 'canary comment'"
    )
    engine.command("INSERT INTO canaries.canary_table VALUES ('canary value')")
    engine.command("CREATE FUNCTION canary_function AS x -> x + 1")
    runner = QueryRunner(engine, "walltime")
    yield runner
    runner.close()


def asked(runner: QueryRunner, sql: str, **url: str) -> str:
    """Whatever comes back, answer or error."""
    try:
        return runner.run(sql, name="leak", parameters={}, url=url).content.decode("utf-8", "replace")
    except (QueryFailed, StatementRefused) as error:
        return str(error)


@pytest.mark.parametrize("table", VISIBLE)
def test_no_error_has_a_value_of_a_row_that_is_not_to_be_seen(runner: QueryRunner, table: str) -> None:
    """The engine may apply a condition from outside before our own, unless something holds it back."""
    failed = 0
    asks = [*product(PLACES[:1], FAILING, VISIBLE[table]), *product(PLACES[1:], FAILING[:2], VISIBLE[table][:1])]
    for place, failing, column in asks:
        sql = place.format(table=table, failing=failing.replace("{}", column))
        said = asked(runner, sql).replace(sql, "")
        said = said.replace("like(", "").replace(f"%{SECRET}%", "")  # the statement itself, as the engine prints it
        failed += "DB::Exception" in said
        assert SECRET not in said, (sql, said)
        assert "canaries" not in said, (sql, said)
        if table == "databases":  # engines of the others: `default` and `system` of the embedded one
            assert "'Memory'" not in said, (sql, said)
            assert "'Overlay'" not in said, (sql, said)
    assert failed > len(asks) / 3, "most of these fail, or this test tests nothing"


LONG = ["a", "store/abc/", "a.", "Maybe you meant: a", "(while reading from part a in table b "]


@pytest.mark.parametrize("repeated", LONG)
def test_the_message_about_a_long_statement_takes_linear_time(runner: QueryRunner, repeated: str) -> None:
    """The CPU time of the collector; that of the database is another process's."""

    def statement(size: int) -> str:
        return f"SELECT `{repeated * (size // len(repeated))}`"

    assert not is_steep(lambda sql: asked(runner, sql), statement, 5_000)


@pytest.mark.parametrize("table", FILTERED)
@pytest.mark.parametrize("source", ["system.tables", "system.tables AS t", "system.columns", "transactions AS tables"])
def test_only_tables_of_ours_can_be_filtered(runner: QueryRunner, table: str, source: str) -> None:
    filters = f"{{'{table}': 'throwIf(1)'}}"
    for said in (
        asked(runner, f"SELECT name FROM {source} SETTINGS additional_table_filters = {filters}"),
        asked(runner, f"EXPLAIN SELECT name FROM {source} SETTINGS additional_table_filters = {filters}"),
        asked(runner, f"SELECT name FROM {source}", additional_table_filters=filters),
    ):
        assert "is not one of Walltime's tables" in said


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_are_an_allow_list(runner: QueryRunner, setting: str) -> None:
    for sql in (
        f"SELECT name FROM transactions SETTINGS {setting}",
        f"SELECT name FROM transactions FORMAT JSON SETTINGS {setting}",
        f"SELECT name FROM transactions SETTINGS max_threads = 1, {setting}",
        f"(SELECT name FROM transactions SETTINGS {setting})",
        f"SELECT 1 UNION ALL SELECT 2 SETTINGS {setting}",
        f"SELECT * FROM (SELECT name FROM transactions SETTINGS {setting})",
        f"SELECT (SELECT 1 SETTINGS {setting})",
        f"WITH a AS (SELECT 1 SETTINGS {setting}) SELECT * FROM a",
        f"EXPLAIN SELECT name FROM transactions SETTINGS {setting}",
        f"EXPLAIN (SELECT name FROM transactions SETTINGS {setting})",
        f"EXPLAIN {setting} SELECT name FROM transactions" if "{" not in setting else f"SET {setting}",
    ):
        said = asked(runner, sql)
        is_refused = "is not allowed" in said or "must be a map" in said or "not one of Walltime's" in said
        assert is_refused or "Code: 62." in said or "for EXPLAIN" in said, (sql, said)


def test_settings_in_the_url_are_taken_or_refused_or_noise(runner: QueryRunner) -> None:
    numbers = "SELECT number FROM numbers(10)"
    assert "Code: 396" in asked(runner, numbers, max_result_rows="5")
    cut = {"max_result_rows": "5", "result_overflow_mode": "break", "max_block_size": "5"}
    assert asked(runner, numbers, **cut) == "0\n1\n2\n3\n4\n"
    assert asked(runner, numbers, max_result_rows="0") == asked(runner, numbers, readonly="0", session_id="x")
    assert asked(runner, "SELECT toHour(toDateTime(0))", session_timezone="Asia/Tokyo") == "9\n"
    assert asked(runner, "SELECT count() FROM schema_migrations SETTINGS max_threads = 1000000") != ""
    for url in ({"additional_result_filter": "1"}, {"final": "1"}, {"max_result_rows": "x"}, {"max_threads": "-1"}):
        assert "not allowed" in asked(runner, numbers, **url)
    filters = {"additional_table_filters": "{'schema_migrations': 'name LIKE \\'001%\\''}"}
    assert asked(runner, "SELECT count() FROM schema_migrations", **filters) == "1\n"
    assert asked(runner, "SELECT count() FROM schema_migrations", additional_table_filters="{}") != "1\n"
    for evil in ("{'schema_migrations': '1'} FORMAT JSON", "1", "{'schema_migrations': '1'}, readonly = 0", "{"):
        assert not asked(runner, "SELECT count() FROM schema_migrations", additional_table_filters=evil)[:1].isdigit()


@pytest.mark.parametrize("table", ["canary_tabl", "canary_tables", "canaries", "onee", "contributorss"])
def test_no_error_proposes_a_table_of_others(runner: QueryRunner, table: str) -> None:
    for sql in (
        f"SELECT * FROM {table}",
        f"DESCRIBE {table}",
        f"SELECT 1 IN {table}",
        f"EXPLAIN SELECT 1 FROM {table}",
    ):
        said = asked(runner, sql)
        assert "UNKNOWN_" in said
        assert "system." not in said
        assert "canaries.c" not in said
        assert "Maybe you meant" not in said
    assert "walltime.transactions" in asked(runner, "SELECT * FROM transaction")
    assert "canary_function" not in asked(runner, "SELECT canary_functio(1)").replace("canary_functio`", "")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT arrayReduce('aggThrow(0.5)', [1])",
        "SELECT arrayReduce('aggThrowIf(0.5)', [1], [1])",
        "SELECT arrayReduce(concat('agg', 'Throw'), [1])",
        "SELECT arrayReduceInRanges('aggThrow', [(1, 1)], [1])",
        "SELECT initializeAggregation('aggThrow', 1)",
        "SELECT arrayMap(initializeAggregation, ['aggThrow'], [1])",
        "SELECT * APPLY(CAST) FROM (SELECT 1)",
        "SELECT CAST(unhex('00'), 'AggregateFunction(sum, UInt64)')",
        "SELECT unhex('00')::AggregateFunction(sum, UInt64)",
        "SELECT CAST('x' AS Nullable(String)), CAST(unhex('00') AS Array(aggregatefunction(sum, UInt64)))",
        "SELECT CAST(unhex('00'), concat('Aggregate', 'Function(sum, UInt64)'))",
        "WITH 'AggregateFunction(sum, UInt64)' AS t SELECT CAST(unhex('00'), t)",
        "SELECT JSONExtract('{}', 'a', 'AggregateFunction(sum, UInt64)')",
        "SELECT defaultValueOfTypeName('AggregateFunction(sum, UInt64)')",
        "SELECT * FROM values('a AggregateFunction(sum, UInt64)', 'x')",
        "SELECT {x:AggregateFunction(sum, UInt64)}",
        "SELECT groupFormat('CSV')(1)",
    ],
)
def test_functions_and_types_that_are_named_in_a_text_are_checked_too(runner: QueryRunner, sql: str) -> None:
    with pytest.raises(StatementRefused):
        runner.run(sql, name="text", parameters={"x": "x"})


def test_functions_that_are_named_in_a_text_work(runner: QueryRunner) -> None:
    sql = "SELECT arrayReduce('quantileIf(0.5)', [1, 2], [1, 1]),"
    sql += " finalizeAggregation(initializeAggregation('sumState', 3)), JSONExtract('[1]', 'Array(UInt8)')"
    assert asked(runner, sql) == "1.5\t3\t[1]\n"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Maybe you meant other.t? In scope x", " In scope x"),
        ("Unknown 'x'. Maybe you meant `other`.`t`? (A)", "Unknown 'x'. (A)"),
        ("Unknown 'x'. Maybe you meant walltime.t? (A)", "Unknown 'x'. Maybe you meant walltime.t? (A)"),
        ("Maybe you meant: ['name']", "Maybe you meant: ['name']"),
        (
            "bad: (while reading from part /var/x/store/cc3/cc3daaaa-d2f4-4728-b0bd-2f2ab944c800/all_1_1_0/ in table"
            " walltime.t (cc3daaaa-d2f4-4728-b0bd-2f2ab944c800) located on disk default of type local, from mark 0"
            " with max_rows_to_read = 8192): While executing X",
            "bad: (while reading from a part of walltime.t): While executing X",
        ),
        ("file data/store/cc3/cc3daaaa-d2f4-4728-b0bd-2f2ab944c800/a.bin: gone", "file …: gone"),
        ("Received from 10.0.0.7:9000. DB::Exception: no", "no"),
        ("Cannot parse string '/product/1' as UInt8", "Cannot parse string '/product/1' as UInt8"),
    ],
)
def test_errors_do_not_name_other_databases_files_and_machines(said: str, shown: str) -> None:
    assert public(said, "walltime") == shown
