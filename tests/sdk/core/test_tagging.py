"""SQL comments: where they go, what is in them, and that nothing in them changes what the server reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
import walltime
from hypothesis import given
from hypothesis import strategies as st
from shop.services import MariaDB
from walltime.core.execution import Branch, Inside
from walltime.core.ids import Ids
from walltime.core.sql_comment import tag
from walltime.core.transaction import Transaction
from walltime.settings.settings import Settings
from walltime_collector.statements.comment import sender

from tests.sdk.sink import Sink

Connect = Callable[..., Any]
TRACEPARENT = "traceparent='00-0000000000000000000000000000000a-000000000000000b-03'"
COMMENT = f" /*route='%2Fp%2F%7Bid%7D',{TRACEPARENT}*/"


@pytest.fixture
def transaction() -> Transaction:
    return made("GET /p/{id}", "GET")


def made(name: str, method: str = "") -> Transaction:
    transaction = Transaction(name, "server", Ids(10, 11, 3), 0, 0)
    transaction.method = method
    return transaction


def pairs_of(sql: str) -> dict[str, str]:
    (body,) = re.findall(r"/\*(.*?)\*/", sql)
    assert re.fullmatch(r"[A-Za-z0-9=',%_.~-]+", body), body
    pairs = dict(re.findall(r"([^,=']+)='([^']*)'", body))
    assert list(pairs) == sorted(pairs)
    return {unquote(key): unquote(value) for key, value in pairs.items()}


# ---- where it goes ----


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1", f"SELECT 1{COMMENT}"),
        ("SELECT 1;", f"SELECT 1{COMMENT};"),
        ("SELECT 1 ; \n\v\f", f"SELECT 1{COMMENT} ; \n\v\f"),
        ("SELECT ';'", f"SELECT ';'{COMMENT}"),
        ("SELECT 1 / 2", f"SELECT 1 / 2{COMMENT}"),
        ("SELECT 1 /* mine */", f"SELECT 1 /* mine */{COMMENT}"),
        ("/* mine */ SELECT 1;", f"/* mine */ SELECT 1{COMMENT};"),
    ],
)
def test_the_comment_stands_at_the_end_and_before_a_semicolon(
    transaction: Transaction, sql: str, expected: str
) -> None:
    assert tag(transaction, sql) == expected
    assert tag(transaction, sql.encode()) == expected.encode()
    assert tag(transaction, bytearray(sql.encode())) == expected.encode()
    assert tag(Inside(transaction), sql) == expected
    assert tag(Branch(transaction), sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 /* never closed",  # ours would close it, and a statement that fails would not
        "SELECT 1 /*/",
        "SELECT '/*'",
        "SELECT 'x' AS café",  # in another character set the last byte may be a space
        f"SELECT '{'x' * 1024}'",  # performance_schema keeps 1024 bytes
        f"SELECT '{'x' * 980}'",  # and would cut the comment itself
    ],
)
def test_the_comment_stands_in_front_where_the_end_is_not_safe_or_is_cut_off(
    transaction: Transaction, sql: str
) -> None:
    assert tag(transaction, sql) == f"{COMMENT[1:]} {sql}"
    assert tag(transaction, sql.encode("latin-1")) == f"{COMMENT[1:]} {sql}".encode("latin-1")


@pytest.mark.setting("sql_comment_position")
def test_the_comment_stands_in_front_by_setting(transaction: Transaction) -> None:
    transaction.settings = Settings(sql_comment_position="prepend")
    assert tag(transaction, "SELECT 1;") == f"{COMMENT[1:]} SELECT 1;"
    assert tag(transaction, b"SELECT 1") == f"{COMMENT[1:]} SELECT 1".encode()


@pytest.mark.setting("sql_text_bytes")
def test_the_server_may_keep_longer_statements(transaction: Transaction) -> None:
    long = f"SELECT '{'x' * 2000}'"
    transaction.settings = Settings(sql_text_bytes=4096)
    assert tag(transaction, long) == f"{long}{COMMENT}"


def test_a_comment_of_ours_is_not_doubled_and_others_stay(transaction: Transaction) -> None:
    for position in ("append", "prepend"):
        transaction.settings = Settings(sql_comment_position=position)
        transaction.sql_comment = None
        for sql in ("SELECT 1;", f"SELECT '{'x' * 3000}'"):
            once = tag(transaction, sql)
            assert tag(transaction, once) == once
            assert tag(transaction, once.encode()) == once.encode()
    other = "SELECT 1 /*traceparent='00-000000000000000000000000000000ff-00000000000000ff-01'*/"
    assert TRACEPARENT in tag(transaction, other)
    transaction.settings = Settings(sql_comment="static", service_name="shop")
    transaction.sql_comment = None
    assert tag(transaction, tag(transaction, "SELECT 1")) == tag(transaction, "SELECT 1")


def test_what_the_comment_would_make_too_long_for_a_packet_goes_without(transaction: Transaction) -> None:
    for size, is_tagged in [(1 << 20, True), ((1 << 20) - 1, False), ((1 << 20) - 60, False), ((1 << 20) - 200, True)]:
        sql = b"SELECT '" + b"x" * (size - 9) + b"'"
        assert (tag(transaction, sql) != sql) == is_tagged, size


def test_the_empty_statement_and_what_is_no_text_come_back(
    transaction: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    for empty in ("", " ", ";", ";\n; ", "\xa0; ", "\0"):  # with a comment the server would not say that they are empty
        assert tag(transaction, empty) == empty
        assert tag(transaction, empty.encode("latin-1")) == empty.encode("latin-1")
    monkeypatch.delenv("WALLTIME_TESTING_RAISE", raising=False)
    odd: Any = object()
    assert tag(transaction, odd) is odd


# ---- what is in it ----


def test_a_new_name_is_in_the_next_comment(transaction: Transaction) -> None:
    tag(transaction, "SELECT 1")
    transaction.set_name("POST /cart")
    assert "route='POST%20%2Fcart'" in tag(transaction, "SELECT 1")


@pytest.mark.setting("sql_comment_keys")
def test_the_settings_say_what_is_in_it(transaction: Transaction) -> None:
    transaction.settings = Settings(
        sql_comment_keys=("traceparent", "application", "user", "tenant", "big"), service_name="shop"
    )
    assert pairs_of(tag(transaction, "SELECT 1")).keys() == {"application", "traceparent"}
    transaction.set_user("ann")
    transaction.annotate("tenant", "x'*/y")
    transaction.annotate("big", True)
    transaction.annotate("other", "not asked for")
    pairs = pairs_of(tag(transaction, "SELECT 1"))
    assert list(pairs.items())[:3] == [("application", "shop"), ("big", "true"), ("tenant", "x'*/y")]
    assert pairs["user"] == "ann"
    transaction.annotate("tenant", 7)
    assert pairs_of(tag(transaction, "SELECT 1"))["tenant"] == "7"


def test_the_services_name_may_come_from_the_resource(
    transaction: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=till")
    transaction.settings = Settings()
    assert pairs_of(tag(transaction, "SELECT 1"))["service"] == "till"


@pytest.mark.setting("sql_comment")
def test_static_comments_are_the_same_in_every_request(transaction: Transaction) -> None:
    transaction.settings = Settings(
        sql_comment="static",
        service_name="shop",
        sql_comment_keys=("traceparent", "route", "service", "user", "tenant"),
    )
    transaction.set_user("ann")
    transaction.annotate("tenant", 1)
    other = Transaction("GET /p/{id}", "server", Ids(99, 98, 0), 0, 0, transaction.settings)
    other.method = "GET"
    assert (
        tag(transaction, "SELECT 1") == tag(other, "SELECT 1") == "SELECT 1 /*route='%2Fp%2F%7Bid%7D',service='shop'*/"
    )
    for nothing in ("off", False):
        untagged = made("x")
        untagged.settings = Settings(sql_comment=nothing)  # type: ignore[arg-type]  # False has always been taken
        assert tag(untagged, "SELECT 1;") == "SELECT 1;"
        assert tag(untagged, b"SELECT '/'") == b"SELECT '/'"


def test_the_caller_can_be_in_it(transaction: Transaction) -> None:
    transaction.settings = Settings(sql_comment_keys=("traceparent", "file", "line", "function"))
    first, second = (pairs_of(sql) for sql in (tag(transaction, "SELECT 1"), tag(transaction, "SELECT 2")))
    assert first == second
    assert first["file"].endswith("core/test_tagging.py")
    assert first["function"].endswith("test_the_caller_can_be_in_it") or "genexpr" in first["function"]
    next_line = pairs_of(tag(transaction, "SELECT 1"))
    assert int(next_line["line"]) > int(first["line"])


def test_what_does_not_fit_is_left_out_from_the_end_of_the_keys() -> None:
    keys = ("traceparent", "route", *[f"key{number}" for number in range(20)])
    transaction = made("/" * 500)
    transaction.settings = Settings(sql_comment_keys=keys)
    for key in keys[2:]:
        transaction.annotate(key, "x" * 200)
    sql = tag(transaction, "SELECT 1")
    assert len(sql) - len("SELECT 1") <= 1024
    assert list(pairs_of(sql)) == ["key0", "key1", "key2", "route", "traceparent"]


@given(
    name=st.text(max_size=2000), service=st.text(max_size=2000), user=st.text(max_size=2000), key=st.text(max_size=200)
)
def test_no_value_and_no_key_can_end_the_comment_or_make_it_long(name: str, service: str, user: str, key: str) -> None:
    transaction = made(name)
    transaction.settings = Settings(
        service_name=service, sql_comment_keys=("traceparent", "route", "service", "user", key)
    )
    transaction.set_user(user)
    transaction.annotate(key, user)
    comment = tag(transaction, "SELECT 1").replace("SELECT 1", "").strip()  # behind it; in front when it is long
    assert comment.isascii()
    assert len(comment) < 1024
    assert comment.startswith("/*")
    assert comment.endswith("*/")
    pairs = pairs_of(comment)
    sent = name.encode("utf-8", "replace").decode()
    assert pairs.get("route", "").startswith(sent[:20])


def test_nothing_of_a_requests_headers_is_in_it_but_a_valid_traceparent(
    recorded: Sink, connect: Connect, mariadb: MariaDB
) -> None:
    connection = connect()
    number = connection.thread_id()

    def app(environ: Any, start_response: Any) -> list[bytes]:
        connection.query("SELECT 'of a request'")
        start_response("200 OK", [])
        return [b""]

    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    for traceparent in (f"00-{trace_id}-00f067aa0ba902b7-01", "00-canary*/-canary-01"):
        environ = {
            "REQUEST_METHOD": "canary",
            "PATH_INFO": "/canary*/",
            "QUERY_STRING": "canary=1",
            "HTTP_TRACEPARENT": traceparent,
            "HTTP_TRACESTATE": "canary=1",
            "HTTP_BAGGAGE": "canary=*/",
            "HTTP_X_REQUEST_ID": "canary",
            "HTTP_HOST": "canary",
        }
        for _ in walltime.WSGIMiddleware(app)(environ, lambda *_: None):
            pass
    assert mariadb.general_log is not None
    lines = [line for line in mariadb.general_log.read_text(errors="replace").splitlines() if f"{number} Query" in line]
    valid, invalid = [line for line in lines if "of a request" in line]
    assert f"00-{trace_id}-" in valid
    assert "00f067aa0ba902b7" not in valid, "it is the transaction's own span that is named"
    assert "canary" not in valid + invalid
    assert trace_id not in invalid


@pytest.mark.parametrize("position", ["append", "prepend"])
def test_the_collector_reads_what_the_comment_says(transaction: Transaction, position: str) -> None:
    keys = ("traceparent", "route", "service", "a'*/b", "file", "line", "function")
    transaction.settings = Settings(sql_comment_keys=keys, sql_comment_position=position, service_name="sh'op*/")
    transaction.annotate("a'*/b", "x,y='z'")
    for sql in ("SELECT 1;", "SELECT '/*'", "SELECT /* other='1' */ 1"):
        said = sender(tag(transaction, sql))
        assert (said.trace_id, said.span_id) == (transaction.request_id, "000000000000000b")
        assert (said.service, said.route) == ("sh'op*/", "/p/{id}")
    transaction.settings = Settings(sql_comment="static", sql_comment_position=position, service_name="shop")
    transaction.sql_comment = None
    said = sender(tag(transaction, "SELECT 1"))
    assert (said.trace_id, said.service, said.route) == ("", "shop", "/p/{id}")
