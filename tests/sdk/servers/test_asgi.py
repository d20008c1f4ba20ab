"""The ASGI middleware, under uvicorn: when a transaction begins and ends, and that the application notices nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
import walltime
from opentelemetry import trace
from walltime.core import execution
from walltime.core.transaction import outside_calls
from walltime.servers.request import request

from tests.running import running_transaction
from tests.sdk.servers.asgi_server import PARENT, SECRET, connected
from tests.sdk.servers.serving import Client, header, uvicorn_serving
from tests.sdk.sink import Sink

BLOCKS = 3


async def app(scope: Any, receive: Any, send: Any) -> None:  # a shop of odd answers
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    path = scope["path"]

    async def start(status: int, *headers: tuple[bytes, bytes]) -> None:
        await send({"type": "http.response.start", "status": status, "headers": list(headers)})

    async def body(block: bytes = b"", more: bool = False) -> None:
        await send({"type": "http.response.body", "body": block, "more_body": more})

    if path == "/plain":
        walltime.current().set_name("GET /plain")
        await start(200, (b"content-type", b"text/plain"), (b"content-length", b"5"))
        await body(b"hello")
    elif path == "/echo":
        received, more = b"", True
        while more:
            message = await receive()
            received, more = received + message["body"], message["more_body"]
        await start(200, (b"content-length", str(len(received)).encode()))
        await body(received)
    elif path == "/stream":
        await start(200)
        for number in range(BLOCKS):
            with walltime.component("stream"):
                await asyncio.sleep(0)
            await body(b"%d" % number, more=True)
        await body()
        with walltime.component("after the response"):
            pass
    elif path == "/304":
        await start(304, (b"etag", b'"1"'))
        await body()
    elif path == "/500":
        await start(500)
        await body(b"sorry")
    elif path == "/raise":
        raise LookupError("mine")
    elif path == "/raise in the stream":
        await start(200, (b"content-length", b"100"))
        await body(b"first", more=True)
        raise LookupError("mine")
    elif path == "/until the client leaves":
        await start(200)
        await body(b"first", more=True)
        while (await receive())["type"] != "http.disconnect":
            pass
    elif path == "/nothing":
        return
    elif path == "/together":
        await asyncio.gather(*[_measured(name) for name in ("left", "right")])
        await start(200)
        await body(trace.get_current_span().get_span_context().span_id.to_bytes(8, "big").hex().encode())


async def _measured(name: str) -> None:
    with walltime.component(name):
        await asyncio.sleep(0.01)
        with walltime.component(f"in {name}"):
            await asyncio.sleep(0.01)


PATHS = ["/plain", "/stream", "/304", "/500", "/raise", "/raise%20in%20the%20stream", "/nothing"]


@pytest.mark.parametrize("http", ["h11", "httptools"])
def test_answers_are_the_same_byte_for_byte(recorded: Sink, http: str) -> None:
    def answers(application: Any) -> list[bytes]:
        with uvicorn_serving(application, http=http) as client:
            return [
                *[client.ask(path, method=method) for path in PATHS for method in ("GET", "HEAD")],
                client.ask("/echo", method="POST", body=b"x" * 200_000),
            ]

    walltime.uninstrument()
    without = answers(app)
    assert answers(walltime.ASGIMiddleware(app)) == without
    assert len(recorded.transactions()) == 2 * len(PATHS) + 1


def one(recorded: Sink, path: str, *headers: str, ask: Callable[[Client], object] | None = None) -> Any:
    """The one transaction of one request."""
    with uvicorn_serving(walltime.ASGIMiddleware(app)) as client:
        if ask is not None:
            ask(client)
        else:
            client.ask(path, headers=headers)
        recorded.wait_for(1)
    return recorded.transaction()


def test_a_request_keeps_its_name_status_and_place_in_the_trace(recorded: Sink) -> None:
    stamp = f"X-Request-Start: t={time.time() - 0.25:.6f}"
    found = one(recorded, "/plain", f"traceparent: {PARENT}-00", "tracestate: vendor=x", stamp)
    assert found.span.name == "GET /plain"
    assert found.span.kind == found.span.SPAN_KIND_SERVER
    assert found.attributes["http.request.method"] == "GET"
    assert found.attributes["http.response.status_code"] == 200
    assert found.attributes["url.scheme"] == "http"
    assert found.span.trace_id.hex() == PARENT[3:35]
    assert found.span.parent_span_id.hex() == PARENT[36:]
    assert found.span.trace_state == "vendor=x"
    assert 0.25e9 <= found.attributes["walltime.queue_ns"] < 5e9
    run_ns, wait_ns = found.attributes["walltime.loop_run_ns"], found.attributes["walltime.loop_wait_ns"]
    cpu_ns = found.attributes["walltime.cpu_user_ns"] + found.attributes["walltime.cpu_system_ns"]
    assert 0 < cpu_ns <= run_ns <= run_ns + wait_ns <= found.span.end_time_unix_nano - found.span.start_time_unix_nano


def test_the_transaction_lasts_until_the_last_part_of_the_body_and_no_longer(recorded: Sink) -> None:
    late = outside_calls.get("late", 0)
    found = one(recorded, "/stream")
    assert found.cell("stream") == {"calls": BLOCKS}
    assert found.cell("after the response") == {}
    assert found.attributes["walltime.after_response.component"] == ["after the response"]
    assert found.attributes["walltime.after_response.calls"] == [1]
    assert outside_calls.get("late", 0) == late
    assert "walltime.incomplete" not in found.attributes


@pytest.mark.parametrize("path", ["/raise", "/raise%20in%20the%20stream"])
def test_an_exception_fails_the_transaction(recorded: Sink, path: str) -> None:
    found = one(recorded, path)
    assert found.attributes["error.type"] == "LookupError"
    assert found.span.status.code == found.span.status.STATUS_CODE_ERROR


def test_a_client_that_leaves_is_no_failure_of_the_application(recorded: Sink) -> None:
    def leave(client: Client) -> None:
        with client.connection("/until%20the%20client%20leaves") as connection:
            assert connection.recv(100)

    found = one(recorded, "", ask=leave)
    assert found.attributes["walltime.incomplete"] is True
    assert "error.type" not in found.attributes
    assert found.attributes["http.response.status_code"] == 200


def test_tasks_of_one_request_at_the_same_time_are_each_on_the_bill_and_nothing_is_counted_twice(
    recorded: Sink,
) -> None:
    with uvicorn_serving(walltime.ASGIMiddleware(app)) as client:
        answer = client.ask("/together")
        (found,) = recorded.wait_for(1)
    assert {name: found.cell(name) for name in ("left", "in left", "right", "in right")} == {
        name: {"calls": 1} for name in ("left", "in left", "right", "in right")
    }
    times_ns = found.times_ns()
    assert found.attributes["walltime.covered_ns"] < sum(times_ns.values()), "they overlapped"
    assert found.attributes["walltime.covered_ns"] <= found.duration_ns
    assert found.span.span_id.hex().encode() in answer, "OpenTelemetry sees the transaction as the current span"


def test_requests_at_the_same_time_do_not_mix(recorded: Sink) -> None:
    names = [f"request {number}" for number in range(20)]

    async def shop(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        name = scope["query_string"].decode().replace("%20", " ")
        walltime.current().set_name(name)
        for _ in range(5):
            with walltime.component(name):
                await asyncio.sleep(0.002)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def load(client: Client) -> None:
        await asyncio.gather(*[asyncio.to_thread(client.ask, f"/?{name.replace(' ', '%20')}") for name in names])

    with uvicorn_serving(walltime.ASGIMiddleware(shop)) as client:
        asyncio.run(load(client))
        found = recorded.wait_for(len(names))
    assert sorted(span.span.name for span in found) == sorted(names)
    for span in found:
        assert span.times_ns().keys() - {"python.gc"} == {span.span.name}
        assert span.cell(span.span.name) == {"calls": 5}


def test_two_middlewares_make_one_transaction_and_the_lifespan_none(recorded: Sink) -> None:
    with uvicorn_serving(walltime.ASGIMiddleware(walltime.ASGIMiddleware(app))) as client:
        client.ask("/plain")
    recorded.transaction()


async def chat(scope: Any, receive: Any, send: Any) -> None:
    walltime.current().set_name("WEBSOCKET /chat/{room}")
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        with walltime.component("answer"):
            await send({"type": "websocket.send", "text": message["text"].upper()})


def test_a_websocket_is_one_transaction_in_which_waiting_for_the_client_has_its_line(recorded: Sink) -> None:
    without = asyncio.run(connected(chat, "a", "b"))
    assert asyncio.run(connected(walltime.ASGIMiddleware(chat), "a", "b")) == without
    found = recorded.transaction()
    assert found.span.name == "WEBSOCKET /chat/{room}"
    assert found.span.trace_id.hex() == PARENT[3:35]
    assert found.cell("answer") == {"calls": 2}
    assert found.cell("websocket.receive") == {"calls": 4}
    assert "http.request.method" not in found.attributes


def test_switched_off_it_is_not_there(sink: Sink) -> None:
    walltime.configure(enabled=False, endpoint=sink.endpoint)
    with uvicorn_serving(walltime.ASGIMiddleware(app)) as client:
        assert client.status("/plain") == 200
    assert sink.spans() == []


def test_our_own_failure_is_not_the_requests(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    walltime.configure(endpoint=sink.endpoint)

    def broken(*_: Any) -> None:
        raise RuntimeError("ours")

    places = (
        "walltime.servers.gateways.asgi.from_asgi",
        "walltime.servers.request.request.has_any",
        "walltime.propagation.propagation.enter",
        "walltime.servers.gateways.asgi.answered",
        "walltime.servers.gateways.asgi.incomplete",
    )
    with uvicorn_serving(app) as client:
        without = {path: client.ask(path) for path in PATHS}
    with uvicorn_serving(walltime.ASGIMiddleware(app)) as client:
        for place in places:
            with monkeypatch.context() as patched:
                patched.setattr(place, broken)
                assert {path: client.ask(path) for path in PATHS} == without
    assert walltime.counters()["failed_asgi"] >= len(places)


# ---- what a request may ask for ----


@pytest.mark.setting("server_timing")
def test_the_bill_so_far_is_in_the_answer_by_setting(sink: Sink) -> None:
    async def shop(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        for name in ("mysql.query", "mysql.query", 'render: page, "two"'):
            with walltime.component(name):
                pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-mine", b"1")]})
        with walltime.component("later"):
            await send({"type": "http.response.body", "body": b""})

    walltime.configure(endpoint=sink.endpoint, server_timing=True, python_gc=False)
    with uvicorn_serving(walltime.ASGIMiddleware(shop)) as client:
        answer = client.ask("/", headers=(f"X-Request-Start: t={time.time():.6f}",))
    assert header(answer, "x-mine") == "1"
    metrics = [part.split(";") for part in (header(answer, "server-timing") or "").split(", ")]
    durations = {name: float(duration.removeprefix("dur=")) for name, duration, *_ in metrics}
    assert durations.keys() == {"total", "queue", "mysql.query", "render_page_two_"}
    assert durations["total"] >= durations["mysql.query"] >= 0
    assert {name: rest for name, _, *rest in metrics}["mysql.query"] == ['desc="2"']


@pytest.mark.setting("force_secret")
@pytest.mark.parametrize("given", [SECRET, SECRET[:-1], f"{SECRET}é", "", None])
def test_who_has_the_secret_gets_the_bill_and_the_detail(sink: Sink, given: str | None) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0, force_secret=SECRET)
    headers = () if given is None else (f"X-Walltime-Force: {given}",)
    with uvicorn_serving(walltime.ASGIMiddleware(app)) as client:
        answer = client.ask("/stream", headers=headers)
        (found,) = sink.wait_for(1)
    knows = given == SECRET
    assert (header(answer, "server-timing") is not None) is knows
    assert (found.attributes.get("walltime.kept", "") == "forced") is knows
    assert len(sink.calls("stream")) == (BLOCKS if knows else 0)


def test_code_keeps_the_detail_of_its_own_transaction_without_telling_the_client(sink: Sink) -> None:
    async def shop(scope: Any, receive: Any, send: Any) -> None:
        walltime.current().keep()
        await app(scope, receive, send)

    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0)
    with uvicorn_serving(walltime.ASGIMiddleware(shop)) as client:
        answer = client.ask("/plain")
        (found,) = sink.wait_for(1)
    assert header(answer, "server-timing") is None
    assert found.attributes["walltime.kept"] == "forced"


def test_what_was_asked_for_is_nobodys_without_a_secret(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0)
    with uvicorn_serving(walltime.ASGIMiddleware(app)) as client:
        answer = client.ask("/plain", headers=("X-Walltime-Force: ",))
        (found,) = sink.wait_for(1)
    assert header(answer, "server-timing") is None
    assert found.attributes.get("walltime.kept", "") == ""


def test_after_its_end_a_transaction_takes_no_name_and_no_failure(recorded: Sink) -> None:
    with walltime.transaction("job", kind="server"):
        over = running_transaction()
    token = execution.running.set(over)
    request.name_by_route("/late")
    request.failed_now(LookupError())
    execution.running.reset(token)
    assert recorded.transaction().span.name == "job"
    assert not over.is_error
