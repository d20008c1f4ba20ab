"""SQL comments: where they go, what is in them, and that nothing in them can end them early."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import SpanContext, TraceFlags
from walltime import tagging
from walltime.hotpath import Inside, Transaction
from walltime.tagging import tag

COMMENT = " /*route='%2Fp%2F%7Bid%7D',traceparent='00-0000000000000000000000000000000a-000000000000000b-03'*/"


@pytest.fixture
def transaction() -> Transaction:
    return made("GET /p/{id}", "GET")


def made(name: str, method: str = "") -> Transaction:
    transaction = Transaction(name, "server", SpanContext(10, 11, False, TraceFlags(3)), 0, 0)
    transaction.method = method
    return transaction


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1", f"SELECT 1{COMMENT}"),
        ("SELECT 1;", f"SELECT 1{COMMENT};"),
        ("SELECT 1 ; \n", f"SELECT 1{COMMENT} ; \n"),
        ("SELECT ';'", f"SELECT ';'{COMMENT}"),
        ("SELECT 1 /* mine */", f"SELECT 1 /* mine */{COMMENT}"),
        ("", COMMENT),
    ],
)
def test_the_comment_stands_at_the_end_and_before_a_semicolon(
    transaction: Transaction, sql: str, expected: str
) -> None:
    assert tag(transaction, sql) == expected
    assert tag(transaction, sql.encode()) == expected.encode()
    assert tag(transaction, bytearray(sql.encode())) == expected.encode()
    assert tag(Inside(transaction), sql) == expected


def test_a_new_name_is_in_the_next_comment(transaction: Transaction) -> None:
    tag(transaction, "SELECT 1")
    transaction.set_name("POST /cart")
    assert "route='POST%20%2Fcart'" in tag(transaction, "SELECT 1")


@given(name=st.text(max_size=2000), service=st.text(max_size=2000))
def test_no_name_can_end_the_comment_or_make_it_long(name: str, service: str) -> None:
    tagging.service = service
    try:
        comment = tag(made(name), "SELECT 1").removeprefix("SELECT 1")
    finally:
        tagging.service = ""
    assert comment.isascii()
    assert len(comment) <= 1024
    assert comment.startswith(" /*")
    assert comment.endswith("*/")
    body = comment[3:-2]
    assert re.fullmatch(r"[A-Za-z0-9=',%_.~-]+", body)
    pairs = dict(re.findall(r"(\w+)='([^']*)'", body))
    assert list(pairs) == sorted(pairs)
    sent = name.encode("utf-8", "replace").decode()
    assert unquote(pairs.get("route", ""), errors="replace").startswith(sent[:20])
