"""No literal of a slow log is stored, whatever sql_mode and character set the session had, whatever is in it."""

# statements as they are

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walltime_collector.observe.slowlog.parser import Parser
from walltime_collector.statements.sql_lexer.lexer import lex

from tests.collector.observe.slowlog.hostile_log import FORMATS, PASTED, SECRET, logged, stored
from tests.sdk.redaction.sql_grammar import MARK, Grammar

# Statements of sessions with other settings than MySQL's default, and what only some servers take for code.
STATEMENTS = (
    rb"select 'C:\' as p, 's3cr3t' as q",
    rb"select 'C:\' as p, 's3cr3t' as q, 'D:\' as r",
    rb"select 'C:\'as p, 's3cr3t'as q, 'not closed",
    rb"select 'it\'s s3cr3t",
    rb"select 'it\'s' as a, 's3cr3t",
    b"select '\xb0\x5c' as a, 's3cr3t' as b",
    b"select '\x83\x5c' as a, 's3cr3t' as b",
    b"select '\xa5\x5c' as a, 's3cr3t' as b, '\xa5\x5c' as c",
    b"select '\x81\x30\x81\x30\xb0\x5c', 's3cr3t'",
    b"select \"\xb0\x5c\", 's3cr3t'",
    b"select `\xb0\x60`, 's3cr3t' from `\xb0\x60`",
    rb"""select "C:\" as p, 's3cr3t' as q""",
    rb"""select "name\" , 's3cr3t' , "other" """,
    b"select /*+ it's */ 's3cr3t' from t",
    b"select /*+ SET_VAR(a='*/') */ 's3cr3t' from t",
    b"select /*+ INDEX(`it's`) */ 's3cr3t' from t",
    b"select /*!50001 '*/' , 's3cr3t' */ from t",
    b"select /*!99999 it's */ 's3cr3t' from t",
    b"select /*M!100100 '*/', */ 's3cr3t' from t",
    b"select /*!99999 a /* it's */ b */ 's3cr3t'",
    b"/*!50001 insert into t values ('s3cr3t') */",
    b"/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`b`*/ /*!50003 TRIGGER x before insert on t set a='s3cr3t' */",
    b"select 5--it's\n, 's3cr3t'",
    b"select 5 --\x01it's\n, 's3cr3t'",
    b"select 5 -- it's\n, 's3cr3t'",
    b"# it's\nselect 's3cr3t'",
    b"select 1 /* it's /* s3cr3t */, 's3cr3t'",
    b"select 1 /* a /* b */ s3cr3t */",
    b"select [it's], 's3cr3t'",
    b"select $$ it's $$, 's3cr3t'",
    b"select $a$ s3cr3t ' $a$, 's3cr3t'",
    b"select N's3cr3t', _utf8's3cr3t', _binary 's3cr3t', x's3cr3t', b's3cr3t'",
    b"select 'a' 's3cr3t' \"s3cr3t\"",
    b"select \\N, 's3cr3t'",
    b"select \\x, 's3cr3t'",
    b"select \x1f, 's3cr3t'",
    b"select a */ 's3cr3t', \"s3cr3t\"",
    b"select 's3cr3t\x00s3cr3t\\0', 's3cr3t'",
    b"insert into t values ('" + b"\\\\s3cr3t'',''" * 20_000 + b"')",
    b"insert into t values "
    + b"('it\\'s s3cr3t', \"a\"),\n" * 20_000
    + b"('s3cr3t') /* s3cr3t */ on duplicate key update a='s3cr3t'",
    b"insert into t values " + b"('C:\\', 's3cr3t'),\n" * 20_001 + b"('s3cr3t')",
)


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: ascii(statement)[:60])
def test_what_is_a_literal_to_some_server_is_in_no_row(statement: bytes) -> None:
    found = stored(logged(statement) + logged(b"select 1"))
    assert MARK not in json.dumps(found)
    assert found[-1]["fingerprint"] == "select ?"


@pytest.mark.parametrize("header", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("pasted", PASTED)
@pytest.mark.parametrize(
    "statement",
    [
        b"insert into t (a) values ('see\n%b')",
        b"insert into t (a, b) values ('it\\'s this\n%b', 5)",
        b"insert into t (a, b) values ('the users\\' log;\n%b', 'x')",
        b'insert into t (a) values ("see\n%b")',
        b"insert into t (a) values ('it''s\n%b')",
        b"insert into t (a) values ('C:\\'';\n%b')",  # NO_BACKSLASH_ESCAPES: the literal is closed by MySQL's default
        b"/* see\n%b */ select 1",
    ],
)
def test_a_log_in_a_literal_is_no_entry(header: bytes, pasted: bytes, statement: bytes) -> None:
    log = logged(statement % pasted, header) + logged(b"select 1, 'x'", header)
    for pieces in ((), (len(header) + 150,), tuple([37] * 60)):
        found = stored(log, pieces)
        assert MARK not in json.dumps(found)
        assert [row["query_ns"] for row in found] == [250_000_000] * 2
        assert {row["user"] for row in found} == {"a"}


@pytest.mark.parametrize("following", [b"select * from t where id = 5", b"select * from t where a like '%'"])
def test_an_escaped_quote_delays_no_entry_for_long(following: bytes) -> None:
    in_doubt = logged(b"select 'the users\\' house'")
    parser = Parser()
    entries = parser.feed(in_doubt + logged(following) * 400)
    assert len(entries) >= 150
    assert entries[0].read
    assert entries[0].read.lexed.redacted == "select ?"
    entries += parser.finish()
    assert len(entries) == 401
    parser = Parser()
    assert not parser.feed(in_doubt)
    assert len(parser.quiet()) == 1


@pytest.mark.parametrize(
    "comment",
    [
        b"# tenant: acme-4711  Rows_sent: 999  Query_time: 77.0",
        b"# Time: nightly job",
        b"# User@Host: x[x] @ y []",
        b"# Thread_id: 5",
        b"# Query_time: 5.000000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0",
        b"# User@Host: x[x] @ y []\n# Query_time: 5.000000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0",
        b"# administrator command: Quit",
    ],
)
def test_a_comment_at_the_beginning_of_a_statement_is_no_header(comment: bytes) -> None:
    for header in FORMATS.values():
        found = stored(logged(comment + b"\nselect 1", header) * 2)
        assert [row["query_ns"] for row in found] == [250_000_000] * 2
        assert {row["fingerprint"] for row in found} == {"select ?"}
        assert {row["rows_sent"] for row in found} == {7}
        assert "acme" not in json.dumps(found)


@pytest.mark.parametrize(
    "literal", ["'/*service=X,route=Y*/'", "'/*traceparent=00-{}-{}-01*/'", '"/*service=X*/"', "'it\\'s /*service=X*/'"]
)
def test_a_comment_in_a_literal_says_nothing_of_the_sender(literal: str) -> None:
    statement = f"insert into t (a) values ({literal.format('a' * 32, 'b' * 16)})"
    (row,) = stored(logged(statement.encode()))
    assert (row["service"], row["route"], row["trace_id"]) == ("", "", "")
    (row,) = stored(logged(f"{statement} /*service='shop'*/".encode()))
    assert row["service"] == "shop"


ODD = (
    b"'",
    b'"',
    b"\\",
    b"`",
    b"#",
    b"--",
    b"-- ",
    b"/*",
    b"*/",
    b"/*!",
    b"/*+",
    b"\n",
    b";\n",
    b"\xb0\\",
    b"\x83\x5c",
    b" ",
    b"x",
)
QUOTINGS = (
    lambda text: b"'" + text.replace(b"\\", b"\\\\").replace(b"'", b"\\'") + b"'",
    lambda text: b"'" + text.replace(b"\\", b"\\\\").replace(b"'", b"''") + b"'",
    lambda text: b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"',
    lambda text: b"'" + text.replace(b"'", b"''") + b"'",  # NO_BACKSLASH_ESCAPES
)


@settings(max_examples=300)
@given(
    st.sampled_from(QUOTINGS),
    st.lists(st.lists(st.sampled_from((*ODD, SECRET, *PASTED)), max_size=6), min_size=1, max_size=4),
    st.sampled_from(tuple(FORMATS.values())),
    st.lists(st.integers(1, 500), max_size=5),
)
def test_whatever_is_in_its_literals_none_of_it_is_in_a_row(
    quote: object, texts: list[list[bytes]], header: bytes, pieces: list[int]
) -> None:
    literals = [quote(b"".join([SECRET, *text, SECRET])) for text in texts]  # type: ignore[operator]
    log = logged(b"insert into t (a) values (" + b", ".join(literals) + b")", header) + logged(b"select 1, 'x'", header)
    assert MARK not in json.dumps(stored(log, pieces))


@given(st.sampled_from(("mysql", "mysql without backslash escapes")), st.integers(0, 10_000))
def test_no_literal_and_no_comment_of_a_generated_statement_stays(dialect: str, seed: int) -> None:
    sql, template = Grammar(dialect, seed).statement()
    assert MARK not in json.dumps(stored(logged(sql.encode())))
    sql, template = Grammar(dialect, seed, is_plain=True).statement()
    assert lex(sql).redacted == template
