"""
What a request does after its response is on its bill, apart from the duration: as many statements as the server saw
with the request's comment, whoever sent them.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import fastapi
import flask
import pytest
import sqlalchemy
import walltime
from fastapi import BackgroundTasks, Depends
from fastapi.responses import StreamingResponse
from shop.services import MariaDB
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from walltime.core import transaction as transaction_module
from walltime.core.call import lines
from walltime.core.ids import Ids
from walltime.core.transaction import Transaction
from walltime.export import exporter
from walltime.servers.gateways.wsgi import WSGIMiddleware

from tests.sdk.servers.serving import uvicorn_serving
from tests.sdk.servers.wsgi_server import serve
from tests.sdk.sink import Received, Sink

SENDING = ("mysql.query", "mysql.commit", "mysql.fetch")
"""Components whose calls are statements to the server."""


def after(bill: Received) -> dict[str, dict[str, int]]:
    """Component → what the bill says of it after the response."""
    said = {name: bill.attributes.get(f"walltime.after_response.{name}", []) for name in ("calls", "time_ns", "errors")}
    components = bill.attributes.get("walltime.after_response.component", [])
    return {each: {name: of[n] for name, of in said.items()} for n, each in enumerate(components)}


def on_the_bill(bill: Received) -> int:
    later = after(bill)
    return sum(
        bill.attributes.get(f"walltime.{each}.calls", 0) + later.get(each, {}).get("calls", 0) for each in SENDING
    )


def at_the_server(mariadb: MariaDB, bill: Received) -> int:
    """Statements with the comment of this transaction, in the server's general log."""
    assert mariadb.general_log is not None
    comment = f"traceparent='00-{bill.span.trace_id.hex()}-{bill.span.span_id.hex()}-"
    return mariadb.general_log.read_text(errors="replace").count(comment)


def shop(mariadb: MariaDB, disconnected: threading.Event) -> fastapi.FastAPI:
    account = mariadb.account()
    where = f"{account['user']}:{account['password']}@{account['host']}:{account['port']}/{account['database']}"
    app = fastapi.FastAPI()
    engine = sqlalchemy.create_engine(f"mysql+pymysql://{where}", connect_args={"ssl_disabled": True})
    async_engine = create_async_engine(f"mysql+aiomysql://{where}", pool_size=1)
    one = sqlalchemy.text("SELECT 1")

    async def async_session() -> AsyncIterator[AsyncSession]:
        async with AsyncSession(async_engine) as session:
            yield session

    def session() -> Iterator[Session]:
        with Session(engine) as session:
            yield session

    a_session, an_async_session = Depends(session), Depends(async_session)

    def fails(session: Session = a_session) -> Iterator[Session]:
        yield session
        session.execute(one)
        raise LookupError("after the response")

    a_failing_session = Depends(fails)

    def in_the_background() -> None:
        with Session(engine) as session:
            session.execute(one)

    @app.get("/async")
    async def with_async_session(session: AsyncSession = an_async_session) -> int:
        return int((await session.execute(one)).scalar_one())

    @app.get("/sync")
    def with_session(session: Session = a_session) -> int:
        return int(session.execute(one).scalar_one())

    @app.get("/background")
    def with_background(background: BackgroundTasks, session: Session = a_session) -> int:
        background.add_task(in_the_background)
        return int(session.execute(one).scalar_one())

    @app.get("/stream")
    def streaming(session: Session = a_session) -> StreamingResponse:
        return StreamingResponse(str(session.execute(one).scalar_one()) for _ in range(5))

    @app.get("/fails")
    def failing(session: Session = a_failing_session) -> int:
        return int(session.execute(one).scalar_one())

    @app.get("/leaves")
    async def left(session: AsyncSession = an_async_session) -> StreamingResponse:
        async def blocks() -> AsyncIterator[bytes]:
            try:
                for _ in range(2000):
                    await session.execute(one)
                    yield b"x" * 65536
            finally:
                disconnected.set()

        return StreamingResponse(blocks())

    @app.on_event("shutdown")
    async def dispose() -> None:
        engine.dispose()
        await async_engine.dispose()

    return app


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", ["/async", "/sync", "/background", "/stream", "/fails"])
def test_as_many_statements_are_on_the_bill_as_the_server_saw(recorded: Sink, mariadb: MariaDB, path: str) -> None:
    late = transaction_module.outside_calls.copy()
    with uvicorn_serving(shop(mariadb, threading.Event()), log_level="critical") as client:
        client.ask(path)  # connects: what is sent there is part of the connect
        recorded.wait_for(2 if path == "/background" else 1)  # and the connection is back in its pool
        client.ask(path)
        found = recorded.wait_for(4 if path == "/background" else 2)
    for bill in found:
        bill_and_server = on_the_bill(bill), at_the_server(mariadb, bill)
        if "walltime.mysql.connect.calls" not in bill.attributes:
            assert bill_and_server[0] == bill_and_server[1] >= 1, bill.span.name
        assert bill.attributes["walltime.covered_ns"] <= bill.duration_ns
        assert sum(bill.times_ns().values()) >= bill.attributes["walltime.covered_ns"]
        later = after(bill)
        if bill.span.name.startswith("GET"):
            assert sum(each["calls"] for each in later.values()) >= 1, bill.span.name
            ended_ns = bill.attributes["walltime.after_response.duration_ns"]
            assert 0 < sum(each["time_ns"] for each in later.values()) <= ended_ns
    assert {k: v for k, v in transaction_module.outside_calls.items() if v != late.get(k)} == {}
    if path == "/fails":
        assert found[1].attributes["walltime.after_response.error_type"] == "LookupError"
        assert "error.type" not in found[1].attributes
    ends = {bill.span.span_id: bill.span.end_time_unix_nano for bill in found}
    for call in recorded.calls():
        is_after = call.span.end_time_unix_nano > ends[call.span.parent_span_id]
        assert call.attributes.get("walltime.after_response", False) == is_after


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_client_that_leaves_costs_no_statement(recorded: Sink, mariadb: MariaDB) -> None:
    gone = threading.Event()
    with uvicorn_serving(shop(mariadb, gone), log_level="critical") as client:
        client.ask("/async")  # connects
        recorded.wait_for(1)
        with client.connection("/leaves") as connection:
            while b"x" * 10_000 not in connection.recv(65536):
                pass
        assert gone.wait(20)
        found = recorded.wait_for(2)
    (bill,) = [each for each in found if each.span.name == "GET /leaves"]
    assert on_the_bill(bill) == at_the_server(mariadb, bill) >= 2
    assert bill.attributes["walltime.incomplete"] is True


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_bill_does_not_wait_for_ever(recorded: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "LONGEST_AFTER_RESPONSE_S", 0.05)
    go_on = threading.Event()
    late = transaction_module.outside_calls.get("late", 0)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})
        with walltime.component("soon after"):
            pass
        with walltime.component("too late"):
            await asyncio.to_thread(go_on.wait, 20)

    with uvicorn_serving(walltime.ASGIMiddleware(app)) as client:
        try:
            assert b"done" in client.ask("/")
            (bill,) = recorded.wait_for(1)
        finally:
            go_on.set()
    assert after(bill).keys() == {"soon after"}
    assert transaction_module.outside_calls["late"] == late + 1
    assert len(recorded.transactions()) == 1


def test_closing_a_wsgi_body_is_after_the_response(recorded: Sink) -> None:
    app = flask.Flask("shop")

    @app.get("/")
    def page() -> flask.Response:
        response = flask.Response("hello")

        @response.call_on_close
        def closed() -> None:
            with walltime.component("closing"):
                time.sleep(0.01)

        return response

    assert serve(WSGIMiddleware(app))[2] == b"hello"
    bill = recorded.transaction()
    assert bill.cell("closing") == {}
    assert after(bill)["closing"]["calls"] == 1
    assert after(bill)["closing"]["time_ns"] >= 10_000_000
    assert bill.attributes["walltime.after_response.duration_ns"] >= 10_000_000


def test_a_call_around_the_end_of_the_response_is_counted_with_its_time_after_it() -> None:
    """5 ns before the end, 7 after it, of which 3 and 2 in a call inside."""
    transaction = Transaction("GET", "server", Ids(1, 2), 0, 0)
    outer, inner = lines("session")[None], lines("mysql.query")[None]
    outer_ns = transaction.nested_ns
    transaction.record(inner, "SELECT 1", 11, 14, transaction.nested_ns)
    transaction.duration_ns = 15
    transaction.record(inner, "SELECT 2", 16, 18, transaction.nested_ns)
    transaction.record(outer, None, 10, 22, outer_ns)
    bill = transaction.add_up(detail=True)
    assert {name: (cell.calls, cell.time_ns) for name, cell in bill.components.items()} == {"mysql.query": (1, 3)}
    assert transaction.after is not None
    later = transaction.after.add_up()
    assert {name: (cell.calls, cell.time_ns) for name, cell in later.components.items()} == {
        "mysql.query": (1, 2), "session": (1, 5),
    }  # fmt: skip
