"""One call has one time: calls, time, longest and the call's span agree, however many pieces it was measured in."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Callable
from typing import Any

import aiohttp
import httpx
import pymysql
import pytest
import requests
import walltime
from hypothesis import given
from hypothesis import strategies as st
from pymysql.cursors import SSCursor
from shop.services import MariaDB
from walltime.core.call import Piece, lines
from walltime.core.execution import Branch
from walltime.core.ids import Ids
from walltime.core.transaction import MAX_CALLS, Transaction

from tests.sdk.clients.http.upstream import Upstream
from tests.sdk.sink import Sink

# ---- arithmetic ----

AT = lines("http.request")["shop", 80]
OTHER = lines("memcache.get")["cache", 11211]

steps = st.lists(
    st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=60
)


@given(steps, st.integers(0, MAX_CALLS + 700), st.booleans())
def test_however_a_call_is_cut_its_time_is_one(
    made: list[tuple[int, bool, int, int]], calls_between: int, on_a_branch: bool
) -> None:
    """Up to six calls in any number of pieces, early or late in the transaction, in any order."""
    transaction = Transaction("job", "internal", Ids(1, 2), 0, 0)
    execution = Branch(transaction) if on_a_branch else transaction
    subjects = [("GET", "http", f"/{n}") for n in range(6)]
    expected: dict[int, int] = {}
    counted: set[int] = set()
    now_ns = 0
    for step, (which, is_whole, pause_ns, own_ns) in enumerate(made):
        for _ in range(calls_between // len(made)):
            execution.record(OTHER, "k", now_ns, now_ns + 2, execution.nested_ns, None, 1, 1)
            now_ns += 2
        started_ns = now_ns + pause_ns
        now_ns = started_ns + own_ns
        subject: object = subjects[which]
        if which in counted or not (is_whole or step > len(made) - 7):
            subject, transaction.has_pieces = Piece(subjects[which]), True
        else:
            counted.add(which)
        execution.record(AT, subject, started_ns, now_ns, execution.nested_ns, None, 0, 0)
        expected[which] = expected.get(which, 0) + own_ns
    bill = transaction.add_up(detail=True)
    cell = bill.components["http.request"]
    assert cell.calls == len(counted)
    assert cell.time_ns == sum(expected.values())
    assert cell.max_ns == max(expected.values())
    assert bill.covered_ns == bill.time_ns <= now_ns
    for call in transaction.calls:
        assert 0 <= call[4] <= call[3] - call[2]


# ---- real clients; `Sink.transaction` compares bill and spans ----


def query(connection: pymysql.connections.Connection[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def test_connecting_is_one_call_with_its_tls_context(recorded: Sink, mariadb: MariaDB) -> None:
    """PyMySQL prepares a TLS context before it connects: some 30 ms."""
    with walltime.transaction("job"):
        pymysql.connect(**mariadb.account()).close()
    bill = recorded.transaction()
    (span,) = recorded.calls("mysql.connect")
    assert bill.cell("mysql.connect") == {"calls": 1}
    connect_ns = bill.times_ns()["mysql.connect"]
    assert bill.attributes["walltime.mysql.connect.max_ns"] == connect_ns == span.attributes["walltime.own_ns"]
    assert connect_ns <= span.duration_ns <= bill.duration_ns


def test_a_connection_that_is_made_later_is_a_call_then(recorded: Sink, mariadb: MariaDB) -> None:
    with walltime.transaction("job"):
        connection = pymysql.connect(**mariadb.account(), defer_connect=True)
        connection.connect()
        connection.close()
    assert recorded.transaction().cell("mysql.connect") == {"calls": 1}


def test_a_connection_that_fails_is_one_call(recorded: Sink) -> None:
    with walltime.transaction("job"), pytest.raises(pymysql.err.OperationalError):
        pymysql.connect(host="no-such-host.invalid", user="nobody")
    assert recorded.transaction().cell("mysql.connect") == {"calls": 1, "errors": 1}


def test_bodies_that_are_read_in_turns_belong_to_their_requests(
    recorded: Sink, upstream: Upstream, connect: Callable[..., pymysql.connections.Connection[Any]]
) -> None:
    connection = connect()
    with walltime.transaction("job"), requests.Session() as session:
        bodies = [session.get(f"{upstream.url}/chunked", stream=True, timeout=10) for _ in range(3)]
        reads = [body.iter_content(1) for body in bodies]
        while blocks := [block for read in reads if (block := next(read, b""))]:
            query(connection)
    assert not blocks
    assert recorded.transaction().cell("http.request") == {"calls": 3}


def test_a_request_of_http_client_is_one_call(
    recorded: Sink, upstream: Upstream, connect: Callable[..., pymysql.connections.Connection[Any]]
) -> None:
    connection = connect()
    with walltime.transaction("job"):
        client = http.client.HTTPConnection(upstream.address, timeout=10)
        client.request("GET", "/slow-body")
        query(connection)
        response = client.getresponse()
        query(connection)
        response.read(1)
        query(connection)
        response.read()
        client.close()
    assert recorded.transaction().cell("http.request") == {"calls": 1}


@pytest.mark.parametrize("path", ["/chunked", "/redirect?to=/slow-body"])
def test_a_streamed_body_of_httpx_is_one_call(
    recorded: Sink, upstream: Upstream, connect: Callable[..., pymysql.connections.Connection[Any]], path: str
) -> None:
    connection = connect()
    with (
        walltime.transaction("job"),
        httpx.Client(follow_redirects=True) as client,
        client.stream("GET", upstream.url + path) as response,
    ):
        for _ in response.iter_raw(1):
            query(connection)
    assert recorded.transaction().cell("http.request") == {"calls": 1 + ("redirect" in path)}


def test_requests_of_aiohttp_at_the_same_time_have_each_their_pieces(recorded: Sink, upstream: Upstream) -> None:
    async def get(session: aiohttp.ClientSession) -> None:
        async with session.get(f"{upstream.url}/chunked") as response:
            await response.read()

    async def job() -> None:
        with walltime.transaction("job"):
            async with aiohttp.ClientSession() as session:
                await get(session)
                await asyncio.gather(*[get(session) for _ in range(3)])

    asyncio.run(job())
    (bill,) = recorded.transactions()
    bill.check(recorded.calls())
    assert bill.cell("http.request") == {"calls": 4}
    assert bill.attributes["walltime.covered_ns"] <= bill.duration_ns


def test_rows_that_are_read_between_other_calls_are_one_fetch(
    recorded: Sink, connect: Callable[..., pymysql.connections.Connection[Any]]
) -> None:
    reading, other = connect(), connect()
    with walltime.transaction("job"), reading.cursor(SSCursor) as cursor:
        cursor.execute("SELECT seq FROM seq_1_to_30")
        for _ in cursor:
            query(other)
    bill = recorded.transaction()
    assert bill.cell("mysql.fetch") == {"calls": 1, "rows": 30}
    texts, times_ns = (bill.attributes[f"walltime.statement.{name}"] for name in ("text", "time_ns"))
    (fetch,), (sent, *_) = recorded.calls("mysql.fetch"), recorded.calls("mysql.query")
    own_ns = fetch.attributes["walltime.own_ns"] + sent.attributes["walltime.own_ns"]
    assert times_ns[texts.index("SELECT seq FROM seq_1_to_30")] == own_ns


def test_a_body_that_is_read_in_another_transaction_is_time_there_and_no_call(
    recorded: Sink, upstream: Upstream
) -> None:
    with walltime.transaction("first"):
        response = requests.get(f"{upstream.url}/slow-body", stream=True, timeout=10)
    with walltime.transaction("second"):
        assert response.content
    first, second = recorded.transactions()
    assert first.cell("http.request") == {"calls": 1}
    assert second.cell("http.request") == {"calls": 0}
    assert 0 < second.attributes["walltime.http.request.max_ns"] <= second.times_ns()["http.request"]
