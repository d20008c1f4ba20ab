"""Statements nobody should be able to ask, by the thousand: made from ClickHouse's grammar, with a grudge."""

from __future__ import annotations

import re
from random import Random

HARMFUL_FUNCTIONS = [
    *("file", "FILE", "`file`", "dictGet", "dictGetOrDefault", "joinGet", "catboostEvaluate", "sleep", "sleepEachRow"),
    *("getSetting", "getServerSetting", "getMacro", "hostName", "FQDN", "showCertificate", "addressToLine", "demangle"),
    *("hasColumnInTable", "aiGenerate", "evalMLMethod", "regionToName", "logTrace", "formatRow", "globalVariable"),
    *("getClientHTTPHeader", "filesystemAvailable", "generateSerialID", "currentRequestURL", "__getScalar", "eval"),
]
FUNCTIONS = ["toString", "length", "concat", "upper", "identity", "sum", "any", "count", "max", "hex", "tuple", "array"]
HARMFUL_TABLES = [
    *("file('{path}')", "file('{path}', 'LineAsString')", "url('{url}', 'LineAsString')", "s3('{url}', 'CSV')"),
    *("remote('{host}', system.one)", "remoteSecure('{host}', system.one)", "mysql('{host}', 'a', 'b', 'c', 'd')"),
    *(
        "postgresql('{host}', 'a', 'b', 'c', 'd')",
        "mongodb('{host}', 'a', 'b', 'c', 'd', 'x Int8')",
        "sqlite('{path}', 't')",
    ),
    *(
        "executable('{path}', 'TSV', 'x Int8')",
        "python('os')",
        "Python(os)",
        "filesystem('{path}')",
        "hdfs('{url}', 'CSV')",
    ),
    *(
        "redis('{host}', 'a', 'a Int8')",
        "cluster('default', system.one)",
        "merge('system', '.*')",
        "loop(system.users)",
    ),
    *("dictionary('d')", "input('x Int8')", "format(TSV, 'x')", "view(SELECT file('{path}'))", "eval('SELECT 1')"),
    *(
        "iceberg('{url}')",
        "deltaLake('{url}')",
        "icebergLocal('{path}')",
        "jdbc('{url}', 'x', 'y')",
        "odbc('x', 'y', 'z')",
    ),
    *(
        "mergeTreeIndex(walltime, spans)",
        "fuzzJSON('{path}')",
        "arrowstream('{path}')",
        "viewExplain('EXPLAIN', '', (SELECT 1))",
    ),
    *(
        "`{path}`",
        "'{path}'",
        "default.`{path}`",
        '"default"."{path}"',
        "system.users",
        "system.disks",
        "system.query_log",
    ),
    *("information_schema.tables", "INFORMATION_SCHEMA.TABLES", "system.processes", "system.user_directories"),
]
TABLES = [
    "transactions",
    "walltime.spans",
    "system.tables",
    "system.columns AS c",
    "numbers(3)",
    "zeros(2)",
    "(SELECT 1)",
]
LITERALS = [
    "1",
    "'{path}'",
    "'x'",
    "NULL",
    "['{path}']",
    "('{path}', 1)",
    "{{p:String}}",
    "$${path}$$",
    "name",
    "1",
    "name",
]
WHOLE = [
    *("INSERT INTO FUNCTION file('{path}.out') SELECT 1", "CREATE TABLE x (a Int8) ENGINE = File(CSV, '{path}')"),
    *(
        "SYSTEM SHUTDOWN",
        "SET readonly = 0",
        "USE system",
        "ATTACH DATABASE x",
        "BACKUP TABLE spans TO File('{path}.out')",
    ),
    *(
        "KILL QUERY WHERE 1",
        "DROP TABLE spans",
        "TRUNCATE TABLE spans",
        "DESCRIBE file('{path}')",
        "DESC TABLE system.users",
    ),
    *(
        "SHOW CREATE TABLE spans",
        "EXPLAIN TABLE OVERRIDE mysql('{host}','a','b','c','d') COLUMNS (x Int8)",
        "SHOW GRANTS",
    ),
    *(
        "CREATE FUNCTION f AS x -> file(x)",
        "EXECUTE AS default SELECT 1",
        "CHECK TABLE spans",
        "SHOW PROCESSLIST",
        "EXISTS file",
    ),
]


SHAPES = [
    *("{f}({})", "{f}({})", "{f}({}, {})", "arrayMap(x -> {f}(x), [{}])", "arrayMap({f}, ['{path}'])"),
    *("arrayFilter({f}, [{}])", "({} IN ({t}))", "({} IN (1, 2))", "(SELECT {} FROM {t})", "{} + {}", "if(1, {}, {})"),
    *("CAST({} AS String)", "sum(1) OVER (PARTITION BY {})", "[{}, {}]", "({}, {}).1"),
]
CLAUSES = [
    *("WHERE {}", "HAVING {}", "GROUP BY {}", "ORDER BY {}", "LIMIT 1 BY {}", "LIMIT length({})", "QUALIFY {}"),
    *("ORDER BY 1 WITH FILL FROM {} TO 3", "WINDOW w AS (PARTITION BY {})", "PREWHERE {}", "ARRAY JOIN [{}] AS q"),
]
ENDS = [
    *(
        "",
        "",
        "",
        "",
        "FORMAT JSON",
        "FORMAT Template",
        "INTO OUTFILE '{path}.out'",
        "INTO OUTFILE '{path}.out' APPEND",
    ),
    *(
        "SETTINGS readonly = 0",
        "SETTINGS max_execution_time = 1",
        "SETTINGS format_schema = '{path}'",
        "; SELECT file('{path}')",
    ),
    *(
        "SETTINGS additional_table_filters = {{'transactions': 'file(\\'{path}\\') = 1'}}",
        "; DROP TABLE spans",
        "-- x",
        "/* x",
    ),
    *(
        "UNION ALL SELECT file('{path}')",
        "INTERSECT SELECT 1",
        "PARALLEL WITH SELECT 1",
        "|> SELECT file('{path}')",
        "\x00",
        "\u2028",
    ),
]
STARTS = [
    "",
    "",
    "",
    "",
    "EXPLAIN ",
    "EXPLAIN AST ",
    "EXPLAIN PIPELINE ",
    "EXPLAIN QUERY TREE ",
    "(",
    "WITH 1 AS x ",
    "-- \n",
]
STARS = [
    "* APPLY({f})",
    "* APPLY(x -> {f}(x))",
    "* REPLACE({f}('{path}') AS name)",
    "COLUMNS('n') APPLY {f}",
    "* EXCEPT(name)",
]


def statement(seed: int) -> str:
    """A statement with `{path}`, `{url}` and `{host}` in it, for format(); the same for the same seed."""
    chance = Random(seed)
    trick = chance.choice([_as_it_is, _as_it_is, _as_it_is, _comments, _other_case, _wide_spaces])
    return trick(chance.choice(WHOLE) if chance.random() < 0.1 else _select(chance))


def _select(chance: Random) -> str:
    selected = ", ".join(_selected(chance) for _ in range(chance.randint(1, 2)))
    clause = chance.choice(["", "", *CLAUSES]).replace("{}", _expression(chance))
    source = chance.choice(["", "FROM {}", "FROM {}", "FROM transactions JOIN {} USING name"])
    source = source.replace("{}", _table(chance))
    return f"{chance.choice(STARTS)}SELECT {selected} {source} {clause} {chance.choice(ENDS)}"


def _selected(chance: Random) -> str:
    if chance.random() < 0.3:
        return chance.choice(STARS).replace("{f}", _function(chance))
    return _expression(chance)


def _expression(chance: Random, depth: int = 0) -> str:
    if depth > 3 or chance.random() < 0.5:
        return chance.choice(LITERALS)
    shape = chance.choice(SHAPES).replace("{f}", _function(chance)).replace("{t}", _table(chance))
    while "{}" in shape:
        shape = shape.replace("{}", _expression(chance, depth + 1), 1)
    return shape


def _function(chance: Random) -> str:
    return chance.choice(FUNCTIONS if chance.random() < 0.93 else HARMFUL_FUNCTIONS)


def _table(chance: Random) -> str:
    return chance.choice(TABLES if chance.random() < 0.85 else HARMFUL_TABLES)


def _as_it_is(statement: str) -> str:
    return statement


def _comments(statement: str) -> str:
    return statement.replace(" ", "/* ' */").replace("(", "/**/(")


def _other_case(statement: str) -> str:
    words = re.split(r"(\{\w+\})", statement)  # the places to fill in stay as they are
    return "".join(word if word.startswith("{") else _swapped(word) for word in words)


def _swapped(text: str) -> str:
    return "".join(letter if index % 3 else letter.swapcase() for index, letter in enumerate(text))


def _wide_spaces(statement: str) -> str:
    return statement.replace(" ", "\u00a0\t\n")
