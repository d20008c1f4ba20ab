"""A failure of ours in any function around an HTTP call or a span leaves the application's answer as it is."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Callable
from typing import Any

import aiohttp
import httpx
import pytest
import urllib3
import walltime
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind
from walltime import errors
from walltime.core.execution import current

from tests.sdk.clients.http.upstream import Upstream
from tests.sdk.sink import Sink


def by_urllib3(url: str) -> bytes:
    with urllib3.PoolManager() as pool:
        response = pool.request("GET", url, preload_content=False)
        return b"".join(response.stream(2))


def by_http_client(url: str) -> bytes:
    connection = http.client.HTTPConnection(url.removeprefix("http://").partition("/")[0])
    connection.request("GET", "/chunked")
    body = connection.getresponse().read()
    connection.close()
    return body


def by_httpx(url: str) -> bytes:
    with httpx.Client(trust_env=False) as client:
        return client.get(url).content


def by_httpx_in_a_loop(url: str) -> bytes:
    async def get() -> bytes:
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(url)).content

    return asyncio.run(get())


def by_aiohttp(url: str) -> bytes:
    async def get() -> bytes:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return await response.read()

    return asyncio.run(get())


def with_a_span(url: str) -> bytes:
    for tracer in (
        trace.ProxyTracerProvider().get_tracer("x"),
        TracerProvider(shutdown_on_exit=False).get_tracer("x"),
    ):
        with tracer.start_as_current_span("x", kind=SpanKind.CLIENT, attributes={"db.system": "sqlite"}) as span:
            span.set_attributes({"db.operation": "x"})
            span.set_attribute("db.name", "x")
    return b"onetwo"


FUNCTIONS: dict[Callable[[str], bytes], list[str]] = {
    by_urllib3: [
        "core.transaction.Transaction.record",
        "clients.http.urllib3._about_chunks",
        "clients.http.requests.read_on",
        "instrumentation.measure._Items.__init__",
        "clients.http.requests.outgoing_headers",
    ],
    by_http_client: [
        "core.transaction.Transaction.record",
        "clients.http.http_client._about",
        "clients.http.http_client_body.read_on",
    ],
    by_httpx: [
        "core.transaction.Transaction.record",
        "clients.http.httpx.outgoing_headers",
        "clients.http.httpx.server_of",
        "instrumentation.measure._Items.__init__",
        "clients.http.requests.read_on",
    ],
    by_httpx_in_a_loop: ["core.transaction.Transaction.record", "instrumentation.measure._AsyncItems.__init__"],
    by_aiohttp: [
        "core.transaction.Transaction.record",
        "clients.http.aiohttp._about",
        "clients.http.aiohttp.server_of",
        "clients.http.aiohttp.outgoing_headers",
        "clients.http.requests.read_on",
    ],
    with_a_span: [
        "core.transaction.Transaction.record",
        "clients.otel.conventions.read",
        "clients.otel.bridge.Seen.__init__",
        "clients.otel.bridge._unfinished",
        "clients.otel.opentelemetry.Measured.__init__",
        "clients.otel.opentelemetry_sdk._failure",
    ],
}


@pytest.mark.parametrize(("way", "function"), [(way, name) for way, names in FUNCTIONS.items() for name in names])
def test_it_is_counted_and_nothing_else_happens(
    recorded: Sink, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, way: Callable[[str], bytes], function: str
) -> None:
    class OfOursError(Exception):
        """What fails."""

    def fail(*_args: Any, **_kwargs: Any) -> Any:
        raise OfOursError

    monkeypatch.delenv("WALLTIME_TESTING_RAISE")
    upstream.late_s = 0.01
    with walltime.transaction("job"):
        monkeypatch.setattr(f"walltime.{function}", fail)
        walltime.uninstrument()  # the wrappers are made anew, with what fails
        walltime.instrument()
        assert way(f"{upstream.url}/chunked") == b"onetwo"
    assert sum(errors.contained.values()) >= 1, f"{function} was not asked"
    errors.contained.clear()
    assert current() is None
