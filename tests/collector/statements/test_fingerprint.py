"""The SDK's template and the statement in the server's log have one fingerprint, and no literal is in it."""

from __future__ import annotations

import re
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pymysql.connections import Connection
from pymysql.cursors import Cursor
from walltime.redaction import sql_lexer as sdk_lexer
from walltime.redaction.redact import redact_sql
from walltime_collector.statements import sql_lexer as collector_lexer
from walltime_collector.statements.fingerprint import fingerprint, fingerprint_id, of_redacted, redact

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.dates(),
    st.datetimes(),
)
LISTS = st.lists(st.integers() | st.text("a'\\"), min_size=1, max_size=5)
TEMPLATES = (
    "SELECT * FROM t WHERE id = %s AND name LIKE %s LIMIT %s, %s",
    "SELECT a FROM `t` WHERE id IN %s OR (x, y) IN ((%s, %s), (%s, %s))",
    "INSERT INTO t (a, b) VALUES (%s, %s) ON DUPLICATE KEY UPDATE a = VALUES(a), b = b + %s",
    "UPDATE t SET a = %s, b = a - %s, c = NOW() WHERE id %% 7 = %s",
    "CALL p(%s,%s)",
    "SELECT 'it''s', \"a \\\" b\", 0x1F, 1.5e-3, -5 FROM dual -- why\nWHERE x=%s /* and y = %s */ # end",
)


@pytest.fixture(scope="module")
def cursor() -> Cursor:
    """Puts values into a template exactly as PyMySQL does; it talks to no server."""
    connection = Connection(defer_connect=True)
    connection.server_status = 0  # type: ignore[attr-defined]  # set by connecting
    return Cursor(connection)


def has_one_reading(in_log: str) -> bool:
    """Without backslash escapes, `'it\\'s #1'` is a literal, a name, and a comment up to the end: all of it goes."""
    return not re.search(r"\\'.*(?:#|--|/\*)", in_log, re.DOTALL)


@given(st.sampled_from(TEMPLATES), st.lists(VALUES, min_size=9, max_size=9), LISTS)
def test_whatever_the_values_the_log_has_the_template_s_fingerprint(
    cursor: Cursor, template: str, values: list[Any], in_list: list[Any]
) -> None:
    arguments = tuple(values[: template.count("%s")])
    if "IN %s" in template:
        arguments = (in_list, *arguments[1:])
    in_log = cursor.mogrify(template, arguments)
    assume(has_one_reading(in_log))
    if '\\"' in template:  # with a double quote in a value too, it has two readings: with backslash escapes and without
        assume(in_log.count('"') == template.count('"'))
    tagged = f"{in_log} /*route='%2Fx',traceparent='00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01'*/"
    assert fingerprint(tagged) == fingerprint(template) == fingerprint(redact_sql(template))


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=4))
@example(rows=[("#", "it's")])
def test_executemany_has_the_fingerprint_of_one_row(cursor: Cursor, rows: list[tuple[Any, Any]]) -> None:
    for row in ("(%s, %s)", "(%s, NOW(), COALESCE(%s, 5))", "(%s,%s,DEFAULT)"):
        template = f"INSERT INTO t (a, b) VALUES {row} ON DUPLICATE KEY UPDATE a = VALUES(a)"
        prefix, suffix = template.split(row)
        in_log = prefix + ",".join(cursor.mogrify(row, each) for each in rows) + suffix
        assume(has_one_reading(in_log))
        assert fingerprint(in_log) == fingerprint(template)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_the_log_is_redacted_by_the_rules_of_the_sdk(text: str) -> None:
    assert redact(text) == redact_sql(text)


def test_the_sdk_and_the_collector_have_one_lexer() -> None:
    ours, theirs = (Path(str(package.__file__)).parent for package in (collector_lexer, sdk_lexer))
    assert ours.resolve() == theirs.resolve()


WORDS = (
    *("select", "a", "`n`", "null", "values", "value", "in", "limit", "offset", "now()", "(", ")", ",", "=", "-", "+"),
    *("1", "-5", "'x'", '"y"', "0x1F", "%s", "%(a)s", "?", "%%", "/* c */", "-- c\n", "# c\n", ";", "(1, 2)"),
)


@given(st.lists(st.sampled_from(WORDS)))
def test_a_fingerprint_is_its_own_fingerprint(words: list[str]) -> None:
    text = " ".join(words)
    once = fingerprint(text)
    assert fingerprint(redact(text)) == once
    assert fingerprint(once) == of_redacted(once) == once


@pytest.mark.parametrize(
    "statement",
    [
        "select 'canary'",
        'select "canary"',
        "select 'it''s canary'",
        "select 'it\\'s canary'",
        "select 'canary",
        "select 'canary\\",
        'select "canary\\',
        "select x'63616e617279canary'",
        "select _utf8mb4'canary', N'canary', _binary 'canary'",
        "select $$canary$$, $x$ canary $x$",
        "select 1 /* canary */",
        "select 1 /* canary",
        "select 1 -- canary",
        "select 1 # canary",
        "insert into t values (1,'canary'),(2,'canary')",
        "select * from t where a in ('canary', 'canary') or b like '%canary%'",
        "alter user u identified by 'canary'",
        "load data infile '/canary' into table t",
    ],
)
def test_no_literal_stays(statement: str) -> None:
    assert "canary" not in redact(statement)
    assert "canary" not in fingerprint(statement)


@given(st.integers(1_000_000, 10**18))
def test_no_number_stays(number: int) -> None:
    statement = f"select {number}, -{number}.5, {number}e3, 0x{number} from t where id={number} limit {number}"
    assert str(number) not in redact(statement)


def test_statements_that_differ_only_in_values_or_style_have_one_fingerprint() -> None:
    same = (
        ("SELECT a\n  FROM t", "select a from t;"),
        ("select * from t where id in (1)", "select * from t where id in (1, 2,3)"),
        ("select 1 limit 5", "select 1 limit 5, 10", "select 1 limit 10 offset 5"),
        ("select * from t where a = null", "select * from t where a = %s", "select * from t where a = %(a)s"),
        ("select /* one */ 1", "select 2 /*traceparent='x'*/"),
        ("select a from t order by a ASC, b asc limit 5", "select a from t order by a, b limit 9"),
        ("/*!50001 CREATE VIEW v AS SELECT 1 */;", "/*!50001 create  view v as select 2 */ /* why */"),
        ("insert into t values (1,2)", "insert into t values (1,2), (3,4), (5", "insert into t values (1,2),"),
    )
    for statements in same:
        assert len({fingerprint(statement) for statement in statements}) == 1, statements


def test_different_statements_have_different_fingerprints() -> None:
    different = (
        ("select a from t1", "select a from t2"),
        ("select `null` from t", "select null from t"),
        ("select a - 5", "select a + 5"),
        ("select a from t order by a asc", "select a from t order by a desc"),
        ("/*!50001 CREATE VIEW v AS SELECT 1 */", "/*!50001 CREATE VIEW w AS SELECT 1 */"),
        ("select * from 123foo", "select * from 123_foo"),
        ("select * from db.123foo", "select * from db.456bars"),
        ("insert into t (a) values (1)", "replace into t (a) values (1)"),
        ("administrator command: Quit", "administrator command: Ping"),
    )
    for one, other in different:
        assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "'" * 100_001,
        "-" * 100_000,
        "-+" * 50_000 + "?",
        "values (" + "(a)," * 30_000,
        "in (" + "?," * 50_000 + "x",
        "/*" * 50_000,
        "`" * 99_999,
        "limit ?" * 20_000,
    ],
)
def test_a_hostile_statement_costs_no_more_than_its_length(text: str) -> None:
    fingerprint(text)  # a quadratic one would take minutes, and the run has a limit


@pytest.mark.parametrize(
    "template",
    [
        "/*!50001 CREATE VIEW v AS SELECT * FROM t WHERE a = %s */",
        "/*!40000 ALTER TABLE `t` DISABLE KEYS */",
        "SELECT /*!40001 SQL_NO_CACHE */ * FROM 123foo ORDER BY 1_foo ASC, b LIMIT %s",
        "SELECT t.2fast, `3rd` FROM db.4you AS t",
    ],
)
def test_the_sdk_s_template_has_the_log_s_fingerprint(template: str) -> None:
    logged = template.replace("%s", "'x'") + " /*route='%2Fx',service='s'*/"
    assert fingerprint(redact_sql(template)) == fingerprint(logged) == fingerprint(template)
    assert redact_sql(logged) == redact(logged)


# As pt-fingerprint 3.2.1 answers; docs/decisions/009 lists where it differs.
PT_FINGERPRINTS = {
    "SELECT * FROM t WHERE a IN (1, 2, 3) AND b = 'x' LIMIT 5, 10": "select * from t where a in(?+) and b = ? limit ?",
    "INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y')": "insert into t (a, b) values(?+)",
    "UPDATE t SET a = 5 WHERE b IS NOT NULL": "update t set a = ? where b is not ?",
    "select null, 5.001, 5001. from foo": "select ?, ?, ? from foo",
    "select a from b where c = -5": "select a from b where c = ?",
    "LOAD DATA INFILE '/tmp/foo.txt' INTO TABLE db.tbl": "load data infile ? into table db.tbl",
    "administrator command: Init DB": "administrator command: Init DB",
    "SELECT  a -- b\nFROM t /* c */ LIMIT 5 OFFSET 6": "select a from t limit ?",
    "select a from t order by name ASC, b asc, c desc limit 5": "select a from t order by name, b, c desc limit ?",
    "/*!40000 ALTER TABLE `t` DISABLE KEYS */": "/*!? alter table `t` disable keys */",
    "/*!50001 CREATE VIEW v AS SELECT 'x' */": "/*!? create view v as select ? */",
    "select * from 123_ooh": "select * from ?_ooh",
}


@pytest.mark.parametrize("statement", PT_FINGERPRINTS)
def test_fingerprints_are_those_of_pt_fingerprint(statement: str) -> None:
    assert fingerprint(statement) == PT_FINGERPRINTS[statement]


def test_pt_fingerprint_gives_these_fingerprints() -> None:
    tool = shutil.which("pt-fingerprint")
    if not tool:
        pytest.skip("needs pt-fingerprint (apt-get install percona-toolkit)")
    for statement, expected in PT_FINGERPRINTS.items():
        result = subprocess.run([tool, "--query", statement], capture_output=True, text=True, check=False)
        assert result.stdout.strip() == expected


def test_an_id_is_the_end_of_pt_query_digest_s() -> None:
    assert f"{fingerprint_id('select sleep(?)'):016X}" == "59A74D08D407B5EDF9A57DD5A41825CA"[16:]


def test_decimals_have_no_sign_left() -> None:
    assert fingerprint(f"select {Decimal('-5.20')}") == "select ?"
