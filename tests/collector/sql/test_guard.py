"""The guard on the real engine: what clients need passes, and each known way out is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import QueryFailed, StatementRefused
from walltime_collector.sql.guard import Guard
from walltime_collector.sql.guard.allowed import AGGREGATES, FUNCTIONS, LAMBDA_FUNCTIONS, TABLE_FUNCTIONS, is_function

Answer = Callable[..., bytes]

# reliability: what a session with readonly = 1 still lets through in the embedded engine, and what it refuses.
LET_THROUGH_BY_READONLY = [
    "SELECT file('/etc/shadow')",
    "SELECT file('/proc/self/environ')",
    "SELECT 1 INTO OUTFILE '{outside}/x'",
    "SELECT 1 INTO OUTFILE '{outside}/x' APPEND",
    "SELECT 1 INTO OUTFILE '{outside}/x' TRUNCATE AND STDOUT COMPRESSION 'gzip' LEVEL 3 FORMAT CSV",
    "DESCRIBE file('/etc/passwd')",
    "DESCRIBE TABLE url('http://127.0.0.1:1/')",
    "KILL QUERY WHERE 1",
    "KILL QUERY WHERE 1 SYNC",
    "USE system",
    "SELECT getServerSetting('max_connections')",
    "SELECT getSetting('max_threads')",
    "SELECT * FROM system.disks",
    "SELECT * FROM system.build_options",
    "SELECT * FROM system.user_directories",
    "SELECT * FROM system.processes",
    "SELECT * FROM mergeTreeIndex(walltime, transactions)",
    "SELECT * FROM merge('system', '.*')",
    "SELECT * FROM generateRandom('x Int8')",
    "SELECT * FROM Python(sys)",
    "SELECT * FROM python('sys')",
    "SELECT 1; SELECT file('/etc/shadow')",
    "SELECT 1; CREATE TABLE x (a Int8) ENGINE = Memory",
    "SELECT 1 --\n; DROP TABLE transactions",
]
REFUSED_BY_READONLY = [
    "SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
    "SELECT * FROM executable('id', 'TSV', 'x String')",
    "SELECT * FROM remote('127.0.0.1:1', system.one)",
    "SELECT * FROM sqlite('/tmp/x', 't')",
    "SELECT * FROM filesystem('/')",
    "SELECT * FROM loop(system.one)",
    "SELECT * FROM dictionary('d')",
    "INSERT INTO FUNCTION file('{outside}/x') SELECT 1",
    "INSERT INTO transactions (name) VALUES ('x')",
    "CREATE TEMPORARY TABLE x (a Int8)",
    "DROP TABLE transactions",
    "TRUNCATE TABLE transactions",
    "ALTER TABLE transactions DELETE WHERE 1",
    "OPTIMIZE TABLE transactions",
    "ATTACH TABLE x",
    "DETACH TABLE transactions",
    "RENAME TABLE transactions TO x",
    "SYSTEM SHUTDOWN",
    "SET readonly = 0",
    "SELECT 1 SETTINGS readonly = 0",
    "SELECT * FROM (SELECT 1 SETTINGS readonly = 0)",
    "SELECT 1 SETTINGS max_threads = 1 FORMAT JSON SETTINGS readonly = 0",
]
NAMES_THAT_HIDE = [
    "SELECT * APPLY(file) FROM (SELECT '/etc/hostname')",
    "SELECT * APPLY `file` FROM (SELECT '/etc/hostname')",
    "SELECT * APPLY(x -> file(x)) FROM (SELECT '/etc/hostname')",
    "SELECT COLUMNS('n') APPLY toString APPLY(FILE) FROM transactions",
    "SELECT arrayMap(file, ['/etc/hostname'])",
    "SELECT arrayMap(`file`, ['/etc/hostname'])",
    "SELECT arrayMap(file AS toString, ['/etc/hostname'])",
    "SELECT arrayFilter(x -> file(x) = '', ['/etc/hostname'])",
    "SELECT mapApply((k, v) -> (k, file(v)), map('a', '/etc/hostname'))",
    "SELECT FiLe('/etc/hostname')",
    "SELECT \"file\"('/etc/hostname')",
    "SELECT/**/file/**/(/**/'/etc/hostname')",
    "SELECT file -- (\n ('/etc/hostname')",
    "WITH file('/etc/hostname') AS x SELECT 1",
    "WITH x AS (SELECT file('/etc/hostname')) SELECT 1",
    "WITH x -> file(x) AS f SELECT f('/etc/hostname')",
    "WITH x -> 1 AS file SELECT file('/etc/hostname')",
    "SELECT 1 WHERE (SELECT file('/etc/hostname')) = ''",
    "SELECT 1 UNION ALL SELECT file('/etc/hostname')",
    "SELECT 1 INTERSECT (SELECT file('/etc/hostname'))",
    "SELECT 1 HAVING file('/etc/hostname') = ''",
    "SELECT 1 QUALIFY file('/etc/hostname') = ''",
    "SELECT name FROM transactions PREWHERE file('/etc/hostname') = ''",
    "SELECT name FROM transactions LIMIT 1 BY file('/etc/hostname')",
    "SELECT name FROM transactions LIMIT length(file('/etc/hostname'))",
    "SELECT name FROM transactions ORDER BY name WITH FILL FROM file('/etc/hostname')",
    "SELECT name, 1 AS a FROM transactions ORDER BY name WITH FILL INTERPOLATE (a AS length(file('/etc/hostname')))",
    "SELECT sum(1) OVER (PARTITION BY file('/etc/hostname')) FROM transactions",
    "SELECT sum(1) OVER (ROWS BETWEEN length(file('/etc/hostname')) PRECEDING AND CURRENT ROW) FROM transactions",
    "SELECT sum(1) OVER w FROM transactions WINDOW w AS (PARTITION BY file('/etc/hostname'))",
    "SELECT * REPLACE (file('/etc/hostname') AS name) FROM transactions",
    "SELECT name FROM transactions ARRAY JOIN [file('/etc/hostname')] AS x",
    "SELECT 1 FROM transactions AS a JOIN spans AS b ON a.name = file('/etc/hostname')",
    "SELECT quantile(length(file('/etc/hostname')))(1)",
    "SELECT * FROM numbers(length(file('/etc/hostname')))",
    "SELECT * FROM values('x String', file('/etc/hostname'))",
    "SELECT CAST(file('/etc/hostname') AS String)",
    "SELECT file('/etc/hostname')::String",
    "SELECT [file('/etc/hostname')][1], (file('/etc/hostname'), 1).1",
    "SELECT CASE WHEN 1 THEN file('/etc/hostname') END",
    "SELECT 1 |> SELECT file('/etc/hostname')",
    "FROM transactions SELECT file('/etc/hostname')",
    "EXPLAIN SELECT (SELECT file('/etc/hostname'))",
    "EXPLAIN AST SELECT file('/etc/hostname')",
    "EXPLAIN TABLE OVERRIDE mysql('127.0.0.1:1', 'a', 'b', 'c', 'd') COLUMNS (x Int8)",
    "EXPLAIN CREATE TABLE x (a Int8) ENGINE = Memory",
    "SELECT * FROM (EXPLAIN SELECT file('/etc/hostname'))",
    "SELECT * FROM viewExplain('EXPLAIN', '', (SELECT 1))",
    "SELECT * FROM eval('SELECT 1')",
    "SELECT * FROM view(SELECT 1)",
    "SELECT 1 SETTINGS additional_table_filters = {{'transactions': 'file(\\'/etc/hostname\\') = 1'}}",
    "SELECT 1 SETTINGS additional_table_filters = {{'transactions': '1 FROM system.users'}}",
    "SELECT 1 SETTINGS additional_table_filters = {{'transactions': '1 IN (SELECT 1 FROM system.users)'}}",
    "SELECT 1 SETTINGS additional_table_filters = {{'transactions': 'DISTINCT name'}}",
    "SELECT 1 SETTINGS additional_table_filters = {{'transactions': 'name SETTINGS readonly = 0'}}",
    "SELECT 1 SETTINGS additional_table_filters = 'x'",
    "SELECT 1 SETTINGS max_execution_time = DEFAULT",
    "SELECT 1 FORMAT Template",
    "SELECT 1 FORMAT Protobuf",
    "SELECT 1 FORMAT MySQLWire",
]
# Types that name functions, in all places and spellings where a type can be.
TYPES_OF_STATES = [
    r"SELECT CAST('x', '`Aggregate\x46unction`(sum, UInt64)')",
    r"SELECT CAST('x', '`Aggregate\\x46unction`(sum, UInt64)')",
    r"SELECT CAST('x', '\"Aggregate\\x46unction\"(sum, UInt64)')",
    r"SELECT CAST('x', 'Array(Tuple(a `Aggregate\\x46unctio\\x6e`(sum, UInt64)))')",
    r"SELECT 'x'::`Aggregate\x46unction`(sum, UInt64)",
    r"SELECT accurateCastOrNull('x', '`aggregate\\x66unction`(sum, UInt64)')",
    r"SELECT reinterpret('x', 'AggregateFunction(sum, UInt64)')",
    r"SELECT defaultValueOfTypeName('`Aggregate\\x46unction`(sum, UInt64)')",
    "SELECT dynamicElement(1::Dynamic, 'AggregateFunction(sum, UInt64)')",
    "SELECT dynamicElement(1::Dynamic, concat('AggregateFunction', '(sum, UInt64)'))",
    "SELECT variantElement(1::Variant(UInt8, String), 'AggregateFunction(sum, UInt64)')",
    "SELECT getSubcolumn('{{}}'::JSON, 'a.:`AggregateFunction(sum, UInt64)`')",
    "SELECT getSubcolumn(1::Dynamic, lower('AggregateFunction(sum, UInt64)'))",
    "SELECT '{{}}'::JSON AS d, d.a.:`AggregateFunction(sum, UInt64)`",
    r"SELECT '{{}}'::JSON AS d, d.a.:`\`Aggregate\\x46unction\`(sum, UInt64)`",
    "SELECT 1::Dynamic AS d, d.`AggregateFunction(sum, UInt64)`",
    r"SELECT 1::Dynamic AS d, d.`Array(\`Aggregate\\x46unction\`(sum, UInt64))`",
    "SELECT JSONExtract('{{}}', 'a', 'AggregateFunction(sum, UInt64)')",
    "SELECT arrayMap(dynamicElement, [1])",
    "SELECT * FROM VALUES('a AggregateFunction(sum, UInt64)', 1)",
    r"SELECT * FROM values('a `Aggregate\\x46unction`(sum, UInt64)', 1)",
    "SELECT {{t:AggregateFunction(sum, UInt64)}}",
    r"SELECT {{t:`Aggregate\x46unction`(sum, UInt64)}}",
]
TOO_MUCH_MEMORY = [
    "SELECT printf('%2147483647d', 1)",
    "SELECT printf('%.1000f', 1)",
    "SELECT printf('%1$2147483647d', 1)",
    "SELECT printf('%%%-+ #02147483647d', 1)",
    "SELECT printf('%*d', 2147483647, 1)",
    "SELECT printf(concat('%', '2147483647d'), 1)",
    "SELECT printf(name, 1) FROM transactions",
    "SELECT arrayMap(printf, ['%2147483647d'])",
    "SELECT * APPLY printf FROM transactions",
    "SELECT URLHierarchy(repeat('a/', 100000))",
    "SELECT URLPathHierarchy(repeat('a/', 100000))",
    "EXPLAIN AST graph = 1 SELECT 1",
]
TABLES_OF_OTHERS = [
    "SELECT * FROM system.users",
    "SELECT * FROM `system`.`users`",
    'SELECT * FROM "system" . "users"',
    "SELECT * FROM system/**/.users",
    "SELECT 1 IN system.users",
    "SELECT 1 IN (system.users)",
    "SELECT 1 GLOBAL NOT IN default.`/etc/passwd`",
    "SELECT in(1, system.users)",
    "SELECT * FROM default.`/etc/passwd`",
    "SELECT * FROM transactions, system.users",
    "SELECT * FROM transactions JOIN system.users ON 1",
    "SELECT (SELECT count() FROM system.users)",
    "SELECT * FROM {{t:Identifier}}",
    "SELECT * FROM {{d:Identifier}}.{{t:Identifier}}",
    "SELECT 1 IN {{t:Identifier}}",
    "SELECT * FROM INFORMATION_SCHEMA.TABLES",
    "SHOW TABLES FROM default",
    "SHOW TABLES FROM system",
    "SHOW CHANGED SETTINGS LIKE '%'",
    "SHOW CREATE TABLE system.users",
    "SHOW CREATE DATABASE walltime",
    "SHOW CREATE TABLE otel.transactions",
    "SHOW CREATE TABLE transactions INTO OUTFILE '{outside}/x'",
    "SHOW CREATE TABLE transactions SETTINGS readonly = 0",
    "SELECT * FROM default.transactions",
    "SELECT * FROM otel.otel_traces_x",
    "SELECT 1 IN default.otel_logs",
    "DESCRIBE default.transactions",
    "SHOW PROCESSLIST",
    "SHOW GRANTS",
    "SHOW SETTINGS LIKE 'a'",
    "SHOW CLUSTERS",
    "DESC TABLE system.users",
    "DESCRIBE (SELECT file('/etc/passwd'))",
    "EXISTS TABLE system.users",
    "CHECK TABLE transactions",
]
FAMILIES = [
    *("dictGet('d', 'a', 1)", "dictHas('d', 1)", "joinGet('j', 'a', 1)", "catboostEvaluate('/m', 1)", "sleep(1)"),
    *(
        "sleepEachRow(1)",
        "addressToLine(1)",
        "addressToSymbol(1)",
        "demangle('x')",
        "hostName()",
        "FQDN()",
        "tcpPort()",
    ),
    *("displayName()", "uptime()", "serverUUID()", "getMacro('x')", "getOSKernelVersion()", "buildId()", "@@version"),
    *("hasColumnInTable('127.0.0.1', 'a', 'b', 'c')", "aiGenerate('x')", "evalMLMethod(1)", "regionToName(1)"),
    *("logTrace('x')", "formatRow('CSV', 1)", "showCertificate()", "getClientHTTPHeader('x')", "filesystemAvailable()"),
    *("generateSerialID('x')", "naiveBayesClassifier('a', 'b')", "currentProfiles()", "encrypt('a', 'b', 'c')"),
    *("connectionId()", "queryID()", "fuzzQuery('SELECT 1')", "chdb()", "__getScalar('x')", "aggThrow(1)", "f | g"),
    *("no_such_function(1)", "__compose(lower, upper)", "lowerr('x')"),
]

# What Grafana's plugin 3.3 and 4.x, clickhouse-go and people send.
NEEDED = [
    "SELECT timezone()",
    "SELECT version()",
    "SELECT 1",
    "SHOW DATABASES",
    "SHOW TABLES",
    'SHOW TABLES FROM "walltime"',
    "SHOW TABLES LIKE 'trans%'",
    'DESC TABLE "walltime"."transactions"',
    "DESCRIBE transactions FORMAT JSON",
    "SELECT name, type, table FROM system.columns",
    "SELECT name, type FROM system.columns WHERE database = 'walltime' AND table = 'spans'",
    "SELECT name, is_aggregate, case_insensitive, alias_to, origin, description, syntax, arguments, returned_value,"
    " examples, categories FROM system.functions LIMIT 10000",
    "SELECT t.name FROM system.tables AS t WHERE database = 'walltime'",
    "select distinct name from walltime.transactions limit 1000",
    'SELECT DISTINCT arrayJoin(attributes.keys) as keys FROM "walltime"."transactions" LIMIT 1000',
    "SELECT arrayJoin(distinctJSONPathsAndTypes(CAST('{{}}' AS JSON))) SETTINGS max_execution_time=10",
    "select name from transactions settings additional_table_filters={{'walltime.transactions' : ' name = \\'x\\' '}}",
    "select name from transactions settings additional_table_filters={{}}",
    "SELECT toStartOfInterval(toDateTime(started_at), INTERVAL 60 second) AS time, name, count() FROM transactions"
    " WHERE started_at >= '1700000000' AND started_at <= '1800000000' GROUP BY time, name ORDER BY time",
    "SELECT count() FROM spans WHERE started_at >= toDateTime(1700000000) AND started_at <= toDateTime(1800000000)",
    "SELECT * EXCEPT (name) FROM transactions WHERE 0",
    "SELECT COLUMNS('_query_time_ns$') APPLY sum FROM transactions",
    "SELECT COLUMNS('_get_calls$') APPLY(x -> avg(x)) FROM transactions",
    "SELECT quantiles(0.5, 0.95)(duration_ns), quantileTDigestIf(0.99)(duration_ns, is_error) FROM transactions",
    "WITH a AS (SELECT name FROM transactions), 5 AS n SELECT count(), n FROM a WHERE name IN (SELECT name FROM spans)",
    "WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM x WHERE n < 5) SELECT sum(n) FROM x",
    "WITH one AS (SELECT 'x') SELECT 'x' IN one",
    "SELECT arrayMap((x, y) -> x + y, [1], [2]), arraySum([1, 2]), arraySort(x -> -x, [1, 2]), arrayMap(toString, [1])",
    "SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM numbers(10)",
    "SELECT * FROM values('a Int8, b String', (1, 'x'), (2, 'y')) ORDER BY a DESC LIMIT 1",
    "SELECT a.name FROM transactions AS a ANY LEFT JOIN spans AS b USING (trace_id) WHERE 0",
    "SELECT name, target.address FROM transactions ARRAY JOIN target.address WHERE 0",
    "(SELECT 1) UNION DISTINCT (SELECT 2) EXCEPT SELECT 3",
    "SELECT EXISTS (SELECT 1), (SELECT 1), CASE 1 WHEN 1 THEN 2 END, 1 BETWEEN 0 AND 2, now() - INTERVAL 1 DAY",
    "SELECT name, grouping(name) FROM transactions GROUP BY GROUPING SETS ((name), ()) HAVING 1 ORDER BY ALL",
    "EXPLAIN indexes = 1 SELECT count() FROM transactions WHERE service = 'x'",
    "EXPLAIN PIPELINE SELECT 1",
    "EXPLAIN PIPELINE graph = 1 SELECT 1",
    "SELECT type FROM system.columns WHERE type LIKE 'AggregateFunction%' OR type = 'AggregateFunction(sum)'",
    "SELECT printf('%5.2f %s', 1.5, name) FROM transactions",
    "SELECT printf('%s of 2026 * %d', name, 1) FROM transactions",  # no width
    "SELECT dynamicElement(1::Dynamic, 'UInt8'), getSubcolumn('{{}}'::JSON, 'a.:`Int64`')",
    "SELECT variantElement(1::Variant(UInt8, String), 'UInt8'), '{{}}'::JSON AS j, j.a.:Int64",
    "EXPLAIN AST SELECT 1",
    "SELECT 1 -- a comment\n;",
    "SELECT ';', '--', '/*', 'INTO OUTFILE', 'file(1)', `1` FROM (SELECT 1)",
    "SELECT * FROM system.tables",
    "SELECT system.tables.name, d.engine FROM system.tables t JOIN system.databases d"
    " ON system.tables.database = system.databases.name WHERE NOT empty(t.data_paths) AND system.tables.name LIKE '%'",
    "SELECT system.columns.*, system.columns.type == 'Bool' FROM system.columns ORDER BY system.columns.position",
    "SELECT name FROM transactions WHERE name NOT IN (SELECT system.tables.name FROM system.tables) LIMIT 1",
    "SELECT attrs.c2 FROM system.data_type_families dt LEFT JOIN"
    " (SELECT * FROM VALUES (('Bool', 1), ('Date', 10))) AS attrs ON dt.name = attrs.c1",
    "SELECT name FROM system.table_functions UNION ALL SELECT name FROM system.table_engines",
    "SELECT database, table, name, type, expr FROM system.data_skipping_indices",
    "SHOW FULL TABLES FROM `walltime` LIKE '%'",
]


@pytest.fixture(scope="module")
def guard(engine: Engine) -> Guard:
    return Guard(engine, "walltime")


@pytest.fixture
def answer(engine: Engine, guard: Guard) -> Answer:
    def run(sql: str, **parameters: str) -> bytes:
        admitted = guard.admit(sql, parameters)
        settings = {"max_execution_time": "10", **admitted.settings}
        return engine.read(admitted.sql, admitted.format_name or "TSV", name="test", settings=settings)

    return run


@pytest.mark.parametrize("statement", NEEDED)
def test_what_clients_need_is_answered(answer: Answer, statement: str) -> None:
    answer(statement.format())


@pytest.mark.parametrize(
    "statement",
    [
        *(*LET_THROUGH_BY_READONLY, *REFUSED_BY_READONLY, *NAMES_THAT_HIDE, *TYPES_OF_STATES, *TOO_MUCH_MEMORY),
        *TABLES_OF_OTHERS,
    ],
)
def test_every_way_out_is_refused(guard: Guard, tmp_path: Path, statement: str) -> None:
    with pytest.raises((StatementRefused, QueryFailed)) as refused:
        guard.admit(statement.format(outside=tmp_path), {"t": "users", "d": "system"})
    if isinstance(refused.value, QueryFailed):
        assert "Code: 62" in str(refused.value), "only what is no statement may get as far as the engine's parser"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", FAMILIES)
def test_no_function_that_does_more_than_compute(guard: Guard, call: str) -> None:
    with pytest.raises((StatementRefused, QueryFailed)):
        guard.admit(f"SELECT {call}", {})
    with pytest.raises((StatementRefused, QueryFailed)):
        guard.admit(f"SELECT arrayMap(x -> {call}, [1])", {})


def test_the_lists_name_what_the_engine_has_and_nothing_that_reaches_out(engine: Engine) -> None:
    rows = engine.query("SELECT name, is_aggregate, categories, higher_order, case_insensitive FROM system.functions")
    known = {row["name"] for row in rows}
    syntax = {"exists", "lambda", "grouping"}  # the parser's, without an entry there

    assert FUNCTIONS - syntax <= known
    assert known >= AGGREGATES
    assert {row["name"] for row in rows if row["higher_order"]} == {
        row["name"] for row in rows if LAMBDA_FUNCTIONS.fullmatch(row["name"])
    }
    for row in rows:
        if row["categories"] in ("Dictionary", "Embedded Dictionary", "Introspection", "Machine Learning", "AI"):
            assert not is_function(row["name"]), row
            assert not is_function(row["name"].upper()), row
    assert {"file", "format"} & {row["name"] for row in engine.query("SELECT name FROM system.table_functions")}
    assert not TABLE_FUNCTIONS & {"file", "url", "format", "input", "view", "merge", "eval", "python"}


def test_no_name_in_other_letters_reaches_another_function(engine: Engine) -> None:
    """`FILE` is not `file` for the engine; if it were for the guard, one of them would be wrong."""
    for row in engine.query("SELECT name, case_insensitive FROM system.functions WHERE alias_to = ''"):
        for written in (row["name"].upper(), row["name"].lower(), row["name"].title()):
            if is_function(written) and not row["case_insensitive"]:
                assert is_function(row["name"]), f"{written} may be called and could mean {row['name']}"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("sumIf", "quantileTDigestIfStateOrNull", "countDistinctIf", "COUNTIf", "SUM")),
        *((name, False) for name in ("fileIf", "State", "", "sumif2", "sleepMap", "aggThrowIf", "lengthIf", "FILE")),
    ],
)
def test_aggregates_take_combinators_and_other_functions_do_not(name: str, is_one: bool) -> None:
    assert is_function(name) == is_one


def test_system_tables_show_our_tables_and_no_paths(answer: Answer) -> None:
    assert answer("SELECT DISTINCT database FROM system.tables") == b"walltime\n"
    assert answer("SELECT DISTINCT database FROM system.columns") == b"walltime\n"
    assert answer("SELECT name FROM system.databases") == answer("SHOW DATABASES") == b"walltime\n"
    assert answer("SELECT DISTINCT data_paths FROM system.tables") == b"['']\n"
    with pytest.raises(QueryFailed, match="metadata_path"):
        answer("SELECT metadata_path FROM system.tables")
    assert b"/" not in answer("SELECT * FROM system.tables WHERE name = 'transactions' FORMAT JSON").replace(
        b"\\/", b""
    )
    assert set(answer("SHOW TABLES NOT LIKE 's%'").split()) >= {b"transactions", b"otlp_spans"}
    assert not [name for name in answer("SHOW TABLES NOT LIKE 's%'").split() if name.startswith(b"s")]
    assert answer("SHOW TABLES LIKE 'tr_nsactions'") == b"transactions\n"
    assert answer("SHOW FULL TABLES LIKE 'transactions'") == b"transactions\tMergeTree\n"
    assert answer("SHOW FULL TEMPORARY TABLES LIKE '%'") == b""


def test_columns_of_system_tables_may_be_named_in_full(answer: Answer) -> None:
    assert answer("SELECT system.databases.name FROM system.databases") == b"walltime\n"
    assert answer("SELECT system.databases.database FROM system.databases d") == b"walltime\n"
    assert answer("SELECT (SELECT system.databases.name FROM system.databases AS x)") == b"walltime\n"
    assert answer("SELECT count() FROM system.tables WHERE system.tables.database != 'walltime'") == b"0\n"
    for sql in (
        "SELECT system.tables.create_table_query FROM system.tables",
        "SELECT system.tables.name FROM system.tables a JOIN system.tables b ON a.name = b.name",
        "SELECT system.tables.name FROM system.databases",
    ):
        with pytest.raises(QueryFailed):
            answer(sql)


def test_show_create_is_the_statement_of_a_table_of_ours(answer: Answer) -> None:
    created = answer("SHOW CREATE TABLE transactions FORMAT TSVRaw").decode()
    assert created.startswith("CREATE TABLE walltime.transactions\n(\n")
    assert "ENGINE = " in created
    assert answer("show create walltime.`transactions` FORMAT TSVRaw").decode() == created
    assert answer("SHOW CREATE VIEW default.otel_traces") == answer("SHOW CREATE TABLE otel_traces")
    with pytest.raises(QueryFailed, match=r"Code: 60\."):
        answer("SHOW CREATE TABLE nothing")


@pytest.mark.parametrize("database", ["default", "otel", "walltime", '"default"'])
def test_queries_for_the_exporters_tables_read_ours(answer: Answer, database: str) -> None:
    table = f"{database}.otel_traces"
    filters = f"{{'{table.replace(chr(34), '')}': '0'}}"
    for statement in (
        f"SELECT count() FROM {table}",
        f"SELECT {table}.TraceId, count() FROM {table} WHERE {table}.ServiceName = 'x' GROUP BY ALL",
        f"SELECT otel_traces.SpanName FROM {table} WHERE 0",
        f"SELECT t.*, {table}.* FROM {table} JOIN {table}_trace_id_ts AS t USING (TraceId) WHERE 0",
        f"WITH (SELECT min(Start) FROM {table}_trace_id_ts) AS s SELECT 1 FROM {table} WHERE Timestamp >= s",
        f"SELECT 1 WHERE ('a', toDateTime(0), toDateTime(0)) IN {table}_trace_id_ts",
        f"DESCRIBE {table}",
        f"EXPLAIN SELECT * FROM {table}",
        f"SELECT count() FROM {table} SETTINGS additional_table_filters = {filters}",
    ):
        answer(statement)


def test_parameters_are_values_whatever_is_in_them(answer: Answer) -> None:
    evil = "x' OR 1=1; DROP TABLE transactions -- \\' {p:String} `"
    escaped = evil.replace("\\", "\\\\")
    assert answer("SELECT {p:String} FORMAT TSVRaw", p=escaped).decode() == evil + "\n"
    assert answer("SELECT {p:String} FORMAT TSVRaw", p=r"a\tb\nc\\d") == b"a\tb\nc\\d\n"
    assert answer("SELECT {a:Array(String)}[1] FORMAT TSVRaw", a=r"['it\'s', 'b']") == b"it's\n"
    assert answer("SELECT {m:Map(String, UInt8)}", m=r"{'k\'':1,'l':2}") == b"{'k\\'':1,'l':2}\n"
    assert (
        answer("SELECT {m:Map(String, Map(String, Array(String)))}['a']['b'][2]", m="{'a':{'b':['c','d']}}") == b"d\n"
    )
    assert answer("SELECT {m:Map(String, String)}", m="{}") == b"{}\n"
    assert answer("SELECT {l:LowCardinality(Nullable(String))} IS NULL", l=r"\N") == b"1\n"
    assert answer(
        "SELECT {n:UInt8} + 1, {f:Nullable(Float64)}, {d:DateTime}", n="5", f=r"\N", d="2024-01-01 00:00:00"
    ) == (b"6\t\\N\t2024-01-01 00:00:00\n")
    assert answer("SELECT number FROM numbers(10) LIMIT {n:UInt8}", n="2") == b"0\n1\n"
    with pytest.raises(QueryFailed):
        answer("SELECT {n:UInt8}", n="1 OR 1")
    for text in ("{'k':1},{'l':2}", "{'k':1}) OR (1", "{'k'", "1"):
        with pytest.raises(QueryFailed):
            answer("SELECT {m:Map(String, UInt8)}", m=text)
    with pytest.raises(StatementRefused, match="send param_missing"):
        answer("SELECT {missing:String}")


def test_what_is_copied_for_each_use_is_bounded(guard: Guard) -> None:
    with pytest.raises(StatementRefused, match="characters; use a long value once"):
        guard.admit(f"SELECT {', '.join(['{p:String}'] * 200)}", {"p": "x" * 10_000})
    filters = ", ".join(["'transactions': '1'"] * 1_000)
    with pytest.raises(StatementRefused, match="more than one condition of a table"):
        guard.admit(f"SELECT 1 SETTINGS additional_table_filters = {{{filters}}}", {})


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_no_function_has_a_state_of_a_type_in_a_text(answer: Answer) -> None:
    """Whatever function a type is given to in a text, the result is of another type."""
    made = []
    for name in sorted(FUNCTIONS):
        for arguments in (
            "{t}",
            "1::Dynamic, {t}",
            "'{{}}'::JSON, {t}",
            "'{{}}'::JSON, 'a', {t}",
            "'{{}}', 'a', {t}",
            "1, {t}",
        ):
            for written in ("'AggregateFunction(sum, UInt64)'", "'a.:`AggregateFunction(sum, UInt64)`'"):
                try:
                    type_name = answer(f"SELECT toTypeName({name}({arguments.format(t=written)}))")
                except (QueryFailed, StatementRefused):
                    continue
                if b"AggregateFunction" in type_name:
                    made.append((name, arguments, type_name))
    assert made == []


def test_settings_that_clients_send_take_effect(answer: Answer, guard: Guard) -> None:
    filtered = (
        "SELECT count() FROM schema_migrations SETTINGS additional_table_filters = {'walltime.schema_migrations': '%s'}"
    )
    assert answer(filtered % "0") == b"0\n"
    assert answer(filtered % "name LIKE \\'001%\\'") == b"1\n"
    assert guard.admit("SELECT 1 SETTINGS max_execution_time = 7", {}).settings == {"max_execution_time": "7"}


def test_what_is_run_is_what_the_engine_printed(guard: Guard) -> None:
    assert guard.admit("select/*x*/1--;\n;", {}).sql == "SELECT 1"
    assert guard.admit("SELECT 1 FORMAT JSON", {}) == guard.admit("select 1 format JSON", {})


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT " + "(" * 30_000 + "1" + ")" * 30_000,
        "SELECT " + "-" * 5_000 + "1",
        "SELECT " + "f(" * 3_000 + "1" + ")" * 3_000,
        "SELECT " + "+".join(["1"] * 5_000),
        "SELECT " + "[" * 2_000 + "]" * 2_000,
        "SELECT * FROM " + "(SELECT * FROM " * 500 + "transactions" + ")" * 500,
        "SELECT 1 WHERE " + " AND ".join(["name = 'x'"] * 20_000),
        "SELECT '" + "x" * 300_000 + "'",
        "SELECT 1\0",
        "SELECT '\ud800'",
        "SELECT x'ff'",
        "",
        ";",
        "--",
        "/*",
        "\ufeff",
    ],
)
def test_what_is_too_deep_too_long_or_nothing_is_refused_and_the_next_is_answered(guard: Guard, statement: str) -> None:
    with pytest.raises((StatementRefused, QueryFailed)):
        guard.admit(statement, {})
    assert guard.admit("SELECT 1", {}).sql == "SELECT 1"


def test_names_that_grow_without_end_are_stopped(engine: Engine, guard: Guard) -> None:
    names = ["1 AS a0", *(f"a{at} + a{at} AS a{at + 1}" for at in range(40))]
    admitted = guard.admit(f"SELECT {', '.join(names)}", {})
    with pytest.raises(QueryFailed):
        engine.read(
            admitted.sql, "TSV", name="x", settings={"max_expanded_ast_elements": "10000", "max_execution_time": "2"}
        )
