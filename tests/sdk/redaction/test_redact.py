"""Redaction: no literal, key or URL secret is left, whatever the text; what is left still reads as the statement."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime.redaction.redact import Redaction, _redact_text, is_denied, redact_key, redact_sql, redact_url
from walltime.redaction.sql_lexer import dialects, escapes, lexer

from tests.sdk.redaction.hostile import HOSTILE
from tests.sdk.redaction.sql_grammar import DIALECTS, MARK, Grammar

MARKS = (MARK, MARK.encode().hex(), "47114711", "4711_4711")


def no_literal_is_left(dialect: str, statements: int) -> None:
    grammar = Grammar(dialect, seed=1)
    for _ in range(statements):
        sql, _ = grammar.statement()
        redacted = redact_sql(sql)
        assert not [mark for mark in MARKS if mark in redacted], sql
        assert redact_sql(redacted) == redacted, f"redacting {sql!r} twice is not redacting it once"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_literal_of_any_dialect_is_left_and_redacting_twice_changes_nothing(dialect: str) -> None:
    no_literal_is_left(dialect, 1000)


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_of_a_hundred_thousand_statements_no_literal_is_left(dialect: str) -> None:
    no_literal_is_left(dialect, 100_000)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_every_dialect_reads_alike_keeps_its_structure(dialect: str) -> None:
    grammar = Grammar(dialect, seed=2, is_plain=True)
    for _ in range(1000):
        sql, template = grammar.statement()
        assert redact_sql(sql) == template


@given(st.text(alphabet=st.sampled_from("'\"\\`#-/*+$%?_xEN 1ae.\n"), max_size=40))
def test_whatever_the_text_redacting_twice_changes_nothing(text: str) -> None:
    assert redact_sql(redact_sql(text)) == redact_sql(text)


def test_escaped_quotes_are_read_as_mysql_does_unless_the_text_makes_sense_in_another_dialect_too() -> None:
    assert redact_sql(r"SELECT 1 FROM t WHERE a = 'O\'Hara' AND b = c") == "SELECT ? FROM t WHERE a = ? AND b = c"
    # Without escapes a backslash would be outside of literals, which no server accepts.
    assert (
        redact_sql(r"SELECT 1 FROM t WHERE a = 'O\'Hara' AND b = 'C\'est'") == "SELECT ? FROM t WHERE a = ? AND b = ?"
    )
    # Without escapes `AND b =` is between two literals; with them, it is inside one: all of it goes.
    assert redact_sql(r"SELECT 1 FROM t WHERE a = 'C:\' AND b = 'D:\'") == "SELECT ? FROM t WHERE a = ?"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("INSERT INTO t VALUES (%s, %(name)s, -5, .5, 1e10)", "INSERT INTO t VALUES (%s, %(name)s, -?, ?, ?)"),
        ("SELECT /* user=alice */ 1 -- alice\n FROM t # alice", "SELECT ? FROM t"),
        ("SELECT /*+ MAX_EXECUTION_TIME(1000) */ x", "SELECT /*+ MAX_EXECUTION_TIME(?) */ x"),
        ("SELECT 'never ends", "SELECT ?"),
        ("SELECT 'cut within an escape\\", "SELECT ?"),
        ('SELECT "cut within an escape\\', "SELECT ?"),
        ("SELECT x /* never ends", "SELECT x"),
        ("SELECT 5--1", "SELECT ??"),
        ("SELECT'a'FROM t", "SELECT?FROM t"),
        ("SELECT j #> '{a\nsecret}', 'secret' FROM t", "SELECT j ?"),
        ("SELECT a # why\n, b", "SELECT a , b"),
        ("SELECT 1 /* a /* b /* c */ */ secret */, x", "SELECT ? , x"),
        # without backslash escapes, `#` begins a comment; it could hold a secret
        (r"INSERT INTO t VALUES (NULL, '\'#secret') ON DUPLICATE KEY UPDATE a = 1", "INSERT INTO t VALUES (NULL, ?"),
        (r"SELECT E'it\'s secret', 'C:\', 'secret'", "SELECT ?"),
        ("SELECT x'1F', N'a', b'01' FROM max", "SELECT ?, ?, ? FROM max"),
        ("UPDATE `it's` SET a='b'", "UPDATE `it's` SET a=?"),
        (b"SELECT '\xff\xfe'", "SELECT ?"),
        (None, "(NoneType)"),
    ],
)  # fmt: skip
def test_what_is_a_literal_in_one_dialect_is_redacted(sql: object, expected: str) -> None:
    assert redact_sql(sql) == expected


@given(st.text(alphabet=st.sampled_from("'\"`\\#-/*$?_xE 1ae.&é\n"), max_size=40))
def test_the_fast_path_redacts_as_reading_in_every_dialect_does(text: str) -> None:
    assert lexer.lex(text).redacted == lexer._lex_in_every_dialect(text, is_cut=False).redacted


def is_open(text: str, dialect: re.Pattern[str]) -> bool:
    """Token by token: a backslash in code, or a word right behind a string, makes no sense."""
    at = 0
    for token in dialect.finditer(text):
        if re.search(r"\\(?!N)", text[at : token.start()]):
            return False
        if token["open"]:
            return True
        at = token.end()
        if text[at - 1] in "'\"" and re.match(r"[\w$\x80-\uffff]", text[at:]):
            return False
    return False


@given(st.text(alphabet=st.sampled_from("'\"`\\#-/*$ N1é\n"), max_size=40))
def test_what_may_be_open_without_escapes_is_what_its_tokens_say(text: str) -> None:
    if not any(token["open"] for token in escapes._BY_DEFAULT.finditer(text)):
        dialects = (escapes._NO_BACKSLASH_ESCAPES, escapes._ANSI_QUOTES)
        assert escapes.may_be_open(text) == any(is_open(text, dialect) for dialect in dialects)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT `a`.`id`, `a`.`name 2`, b.c3, t1_2 FROM `a` AS b WHERE x = %s AND y IN (%(y)s, ?, $1) AND z <= 1.5e-3",
        "INSERT INTO t VALUES (1, 'it''s', 'c:\\\\dir\\n', \"\\'hi\\'\", 0x1F, .5, -7), (2, '#', '--', '/*', 'é', '٤')",
        "SELECT /*+ MAX_EXECUTION_TIME(1000) */ a, N'x' FROM t",
        "CREATE FUNCTION f(a int) RETURNS text AS $$ BEGIN RETURN 's3cr3t' || a * 2; END; $$ LANGUAGE plpgsql",
    ],
)
def test_statements_of_applications_take_the_fast_path(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexer, "read_in_every_dialect", None)
    redacted = lexer.redact(sql)
    assert "?" in redacted
    assert MARK not in redacted


def test_everything_behind_the_limit_of_special_characters_is_one_literal() -> None:
    doubtful = "SELECT 'C:\\' AND a = 'D:\\', "
    assert dialects.read_in_every_dialect(doubtful + "x, '' " * dialects.MAX_EVENTS, is_cut=False).pieces[-1] == (
        "?",
        False,
    )
    for sql in (doubtful + "'', " * dialects.MAX_EVENTS + MARK, doubtful + "# a\n, b" * dialects.MAX_EVENTS + MARK):
        assert MARK not in redact_sql(sql)
        assert redact_sql(sql).endswith("?")


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_of_four_times_the_length_takes_four_times_as_long(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("walltime.redaction.redact.MAX_SQL_CHARS", 100_000)  # of which half would be cut off
    redact = _redact_text.__wrapped__  # type: ignore[attr-defined]  # nothing cached
    texts = [(piece * chars)[:chars] for chars in (8_000, 32_000)]
    least_ns = [10**18] * len(texts)
    for turn in range(12):
        for n, text in enumerate(texts):
            began_ns = time.thread_time_ns()
            redact(text)
            least_ns[n] = min(least_ns[n], time.thread_time_ns() - began_ns)
        if turn >= 2 and least_ns[1] < 8 * least_ns[0]:
            break
    # Four times the text: 4 if linear, 16 if quadratic.
    assert least_ns[1] < 8 * least_ns[0], least_ns


@given(st.text(), st.binary(min_size=1))
def test_a_keys_secret_part_is_hashed(key: str, salt: bytes) -> None:
    hashed = redact_key(key, salt)
    prefix, _, digest = hashed.rpartition("#")
    assert key.startswith(prefix)
    assert len(digest) == 16
    assert prefix == "" or prefix.endswith(":") or key[len(prefix)].isdigit() or len(prefix) == 100
    assert redact_key(key, salt) == hashed
    assert redact_key(key, salt + b"x") != hashed


@pytest.mark.parametrize(
    ("key", "prefix"),
    [
        ("product:42", "product:"),
        ("user_7", "user_"),
        ("sessions/alice:cart", "sessions/alice:"),
        ("alice@example.com:cart", ""),
        ("Müller:cart", ""),
        ("k" * 33 + ":1", ""),
        (":1:product:42", ":1:product:"),
        ("shop:12:alice@example.com", "shop:12:"),
        ("4711", ""),
        (b"views.cache.GET.9c3e", "views.cache.GET."),
        (b"\xff\xfe:1", ""),
    ],
)
def test_a_keys_prefix_is_a_word_and_nothing_else(key: str | bytes, prefix: str) -> None:
    assert redact_key(key, b"salt").rpartition("#")[0] == prefix


@pytest.mark.parametrize(
    ("url", "redacted"),
    [
        ("https://me:secret@pay.example:8443/v1/charge?card=4711#top", "https://pay.example:8443/v1/charge"),
        ("/relative/path?token=s3cr3t", "/relative/path"),
        ("http://h/users/4711/orders/9f3c-11", "http://h/users/?/orders/?"),
        ("http://h/reset/" + "a" * 33, "http://h/reset/?"),
        ("http://h/mail/me@example.com/M%C3%BCller", "http://h/mail/?/?"),
        ("http://h", "http://h"),
        ("http://[half", "(unparsable)"),
    ],
)
def test_urls_lose_user_query_fragment_and_the_values_in_their_path(url: str, redacted: str) -> None:
    assert redact_url(url) == redacted


@pytest.mark.parametrize(
    "key",
    [
        "password", "userPassword", "user.passwd", "DB_PWD", "secret", "client-secret", "token", "accessToken",
        "csrf_token", "X-API-Key", "apiKey", "api_key", "private_key", "Authorization", "http.authorization",
        "Set-Cookie", "cookie", "sessionid", "PHPSESSID", "jwt", "credentials", "auth", "mysql_pwd",
        "x_forwarded_for", "X-Real-IP", "ip_address", "remote_addr", "user_session", "connect.sid",
        "XSRF-TOKEN", "card.number", "cvv", "otp",
    ],
)  # fmt: skip
def test_a_value_whose_name_announces_a_secret_is_redacted(key: str) -> None:
    assert is_denied(key)
    assert Redaction(b"salt").annotation(key, "s3cr3t") == "(redacted)"
    assert Redaction(b"salt").annotation(key, 4711) == "(redacted)"


@pytest.mark.parametrize(
    "key", ["token_count", "cart.items", "author", "passage", "pinned", "secretary", "tokens", "dsnx"]
)
def test_a_value_whose_name_only_resembles_one_is_kept(key: str) -> None:
    assert not is_denied(key)
    assert Redaction(b"salt").annotation(key, 3) == 3
    assert Redaction(b"salt").annotation(key, "three") == "three"


def test_a_session_is_replaced_by_its_keyed_hash() -> None:
    redaction = Redaction(b"salt")
    hashed = redaction.annotation("session.id", "s3cr3t")
    assert hashed == redaction.annotation("session.id", "s3cr3t") != redaction.annotation("session.id", "other")
    assert "s3cr3t" not in str(hashed)


def test_an_address_among_the_annotations_loses_its_credentials() -> None:
    assert Redaction(b"").annotation("broker", "amqp://me:s3cr3t@mq/shop") == "amqp://mq/shop"
