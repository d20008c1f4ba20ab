"""aiohttp's server without a change of the application: one transaction a request, until its response is written."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import aiohttp
import pytest
import walltime

from tests.sdk.servers.aiohttp_shop import BLOCKS, shop
from tests.sdk.servers.asgi_server import PARENT, SECRET
from tests.sdk.servers.serving import Client, aiohttp_serving, header
from tests.sdk.sink import Sink

ASKED = {
    ("GET", "/product/7"): ("GET /product/{id}", 200, None),
    ("HEAD", "/product/7"): ("HEAD /product/{id}", 200, None),
    ("POST", "/product/7"): ("POST", 405, None),
    ("GET", "/part/item/7"): ("GET /part/item/{number}", 200, None),
    ("GET", "/stream"): ("GET /stream", 200, None),
    ("GET", "/body"): ("GET /body", 200, None),
    ("GET", "/broken"): ("GET /broken", 203, "LookupError"),
    ("GET", "/refused"): ("GET /refused", 403, None),
    ("GET", "/fails"): ("GET /fails", 500, "LookupError"),
    ("GET", "/nowhere"): ("GET", 404, None),
}


def test_every_request_is_one_transaction_named_by_its_resource_and_answered_as_without_us(recorded: Sink) -> None:
    def answers() -> list[bytes]:
        with aiohttp_serving(shop()) as client:
            return [client.ask(path, method=method) for method, path in ASKED]

    walltime.uninstrument()
    without = answers()
    assert recorded.transactions() == []
    walltime.instrument()
    assert answers() == without
    found = sorted(recorded.wait_for(len(ASKED)), key=lambda each: each.span.start_time_unix_nano)
    assert [
        (span.span.name, span.attributes["http.response.status_code"], span.attributes.get("error.type"))
        for span in found
    ] == list(ASKED.values())
    assert [span.span.name for span in found if "walltime.cpu_user_ns" not in span.attributes] == []
    bills = {span.span.name: span for span in found}
    assert bills["GET /product/{id}"].cell("handler") == {"calls": 1}
    assert bills["GET /product/{id}"].cell("around") == {"calls": 1}
    assert bills["GET /stream"].cell("stream") == {"calls": BLOCKS}
    assert bills["GET /body"].cell("stream") == {"calls": BLOCKS}, "the body is written after the handler is done"


def test_a_request_has_its_place_in_the_trace_and_its_time_in_the_queue(recorded: Sink) -> None:
    headers = (f"traceparent: {PARENT}-00", f"X-Queue-Start: t={time.time() - 0.25:.6f}")
    with aiohttp_serving(shop()) as client:
        client.ask("/product/1", headers=headers)
        (found,) = recorded.wait_for(1)
    assert found.span.trace_id.hex() == PARENT[3:35]
    assert 0.25e9 <= found.attributes["walltime.queue_ns"] < 5e9


def test_a_client_that_leaves_ends_the_transaction(recorded: Sink) -> None:
    with aiohttp_serving(shop()) as client:
        with client.connection("/endless") as connection:
            assert connection.recv(100)
        (found,) = recorded.wait_for(1)
    assert found.attributes["walltime.incomplete"] is True
    assert "error.type" not in found.attributes


def test_a_websocket_is_a_request_until_it_is_closed(recorded: Sink) -> None:
    async def talk(client: Client) -> list[Any]:
        url = "http://{}:{}/chat/7".format(*client.address)
        async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
            answers = []
            for text in ("a", "b"):
                await socket.send_str(text)
                answers.append(await socket.receive_str())
            return answers

    with aiohttp_serving(shop()) as client:
        assert asyncio.run(talk(client)) == ["A", "B"]
        (found,) = recorded.wait_for(1)
    assert found.span.name == "GET /chat/{room}"
    assert found.attributes["http.response.status_code"] == 101
    assert found.cell("answer") == {"calls": 2}


@pytest.mark.parametrize("path", ["/product/1", "/stream", "/refused"])
def test_who_has_the_secret_gets_the_bill(sink: Sink, path: str) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0, force_secret=SECRET)
    walltime.instrument("aiohttp")
    with aiohttp_serving(shop()) as client:
        assert header(client.ask(path), "server-timing") is None
        answer = client.ask(path, headers=(f"X-Walltime-Force: {SECRET}",))
    assert re.match(r"total;dur=\d+\.\d\d(, [\w.]+;dur=\d+\.\d\d;desc=\"1\")*$", header(answer, "server-timing") or "")


def test_requests_at_the_same_time_do_not_mix(recorded: Sink) -> None:
    async def load(client: Client) -> None:
        await asyncio.gather(
            *[asyncio.to_thread(client.ask, path) for path in ("/product/1", "/stream") for _ in range(10)]
        )

    with aiohttp_serving(shop()) as client:
        asyncio.run(load(client))
        found = recorded.wait_for(20)
    for span in found:
        expected = {"handler", "serialize"} if span.span.name == "GET /product/{id}" else {"stream"}
        assert {"middleware", "view", "around", *expected} == set(span.times_ns()) - {"python.gc"}
