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
from walltime.core import transaction as hotpath

from tests.sdk.sink import Sink
from tests.sdk.upstream import Upstream


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
        "hotpath.Transaction.record", "clients.urllib3._line", "clients.urllib3.read_on",
        "clients.http.outgoing_headers",
    ],
    by_http_client: ["hotpath.Transaction.record", "clients.http_client._asked", "clients.http_client.read_on"],
    by_httpx: [
        "hotpath.Transaction.record", "clients.httpx.outgoing_headers", "clients.httpx._Blocks.__init__",
        "clients.httpx.read_on",
    ],
    by_httpx_in_a_loop: ["hotpath.Transaction.record", "clients.httpx._AsyncBlocks.__init__"],
    by_aiohttp: [
        "hotpath.Transaction.record", "clients.aiohttp._line", "clients.aiohttp._server",
        "clients.aiohttp.outgoing_headers", "clients.aiohttp.read_on",
    ],
    with_a_span: [
        "hotpath.Transaction.record", "conventions.read", "bridge.Seen.__init__", "bridge._unfinished",
        "clients.opentelemetry.Measured.__init__", "clients.opentelemetry_sdk._failure",
    ],
}  # fmt: skip


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
        assert way(f"{upstream.url}/chunked") == b"onetwo"
    assert sum(errors.contained.values()) >= 1, f"{function} was not asked"
    errors.contained.clear()
    assert hotpath.current() is None
