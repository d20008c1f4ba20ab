"""aiohttp.ClientSession against a real HTTP server: what is on the bill is what the server saw."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
import walltime
from opentelemetry import baggage
from opentelemetry import context as otel_context
from walltime.core import transaction as transaction_module

from tests.sdk.clients.http.upstream import LATE_S, Upstream
from tests.sdk.sink import Received, Sink


@pytest.fixture
def bill_of(recorded: Sink) -> Callable[[Callable[[aiohttp.ClientSession], Awaitable[None]]], Received]:
    """Runs a job with a session in a transaction of its own and returns its bill."""

    def run(job: Callable[[aiohttp.ClientSession], Awaitable[None]]) -> Received:
        async def with_session() -> None:
            async with aiohttp.ClientSession() as session:
                await job(session)

        with walltime.transaction("job"):
            asyncio.run(with_session())
        return recorded.transactions()[-1]

    return run


Run = Callable[[Callable[[aiohttp.ClientSession], Awaitable[None]]], Received]


def test_a_request_is_one_call_on_its_server_with_the_connect_apart(
    recorded: Sink, bill_of: Run, upstream: Upstream
) -> None:
    async def job(session: aiohttp.ClientSession) -> None:
        for _ in range(3):
            async with session.get(f"{upstream.url}/stock?token=hidden") as response:
                assert await response.text() == "ok"

    bill = bill_of(job)
    assert bill.cell("http.connect") == {"calls": upstream.connections} == {"calls": 1}
    assert bill.cell("http.request") == {"calls": len(upstream.paths)} == {"calls": 3}
    assert bill.targets()["http.request", upstream.address]["calls"] == 3
    assert bill.targets()["http.connect", upstream.address]["calls"] == 1
    call = recorded.calls("http.request")[0]
    assert call.attributes["url.full"] == f"{upstream.url}/stock"
    assert call.attributes["http.response.status_code"] == 200
    assert call.attributes["http.request.method"] == "GET"


@pytest.mark.parametrize("path", ["/slow-body", "/chunked"])
@pytest.mark.parametrize("how", ["read", "blocks", "lines"])
def test_waiting_for_the_body_is_part_of_its_call(bill_of: Run, upstream: Upstream, path: str, how: str) -> None:
    async def job(session: aiohttp.ClientSession) -> None:
        async with session.get(f"{upstream.url}{path}") as response:
            if how == "read":
                body = await response.read()
            elif how == "blocks":
                body = b"".join([block async for block in response.content.iter_chunked(2)])
            else:
                body = b"".join([line async for line in response.content])
            assert body in {b"late", b"onetwo"}

    bill = bill_of(job)
    assert bill.cell("http.request") == {"calls": 1}
    assert bill.times_ns()["http.request"] > LATE_S * 0.8e9


def test_each_hop_of_a_redirect_is_a_call(bill_of: Run, upstream: Upstream) -> None:
    with Upstream() as elsewhere:

        async def job(session: aiohttp.ClientSession) -> None:
            async with session.get(f"{upstream.url}/redirect?to={elsewhere.url}/here") as response:
                assert await response.text() == "ok"
            async with session.get(f"{upstream.url}/missing") as response:
                assert response.status == 404

        bill = bill_of(job)
    assert bill.cell("http.request") == {"calls": 3, "errors": 1}
    assert bill.targets()["http.request", upstream.address]["calls"] == len(upstream.paths) == 2
    assert bill.targets()["http.request", elsewhere.address]["calls"] == len(elsewhere.paths) == 1


def test_failures_are_errors_and_reach_the_caller_as_they_are(bill_of: Run, upstream: Upstream) -> None:
    async def job(session: aiohttp.ClientSession) -> None:
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get("http://127.0.0.1:1/")
        with pytest.raises(aiohttp.ClientError):
            await session.post(f"{upstream.url}/reset")
        with pytest.raises(aiohttp.ClientPayloadError):
            async with session.get(f"{upstream.url}/cut") as response:
                await response.read()
        with pytest.raises(asyncio.TimeoutError):
            await session.get(f"{upstream.url}/slow", timeout=aiohttp.ClientTimeout(sock_read=LATE_S / 5))

    bill = bill_of(job)
    assert bill.cell("http.request") == {"calls": 4, "errors": 4}
    assert bill.cell("http.connect")["errors"] == 1
    assert bill.targets()["http.request", upstream.address]["calls"] == len(upstream.paths) == 3


def test_what_aiohttp_sends_again_by_itself_is_a_failed_call_and_another(bill_of: Run, upstream: Upstream) -> None:
    async def job(session: aiohttp.ClientSession) -> None:
        with pytest.raises(aiohttp.ClientError):
            await session.get(f"{upstream.url}/reset")

    bill = bill_of(job)
    assert upstream.paths == ["/reset", "/reset"]
    assert bill.cell("http.request") == {"calls": 2, "errors": 2}


def test_over_tls_the_handshake_is_part_of_the_connect(
    bill_of: Run, secure_upstream: Upstream, certificate: tuple[Path, Path]
) -> None:
    context = ssl.create_default_context(cafile=str(certificate[0]))

    async def job(session: aiohttp.ClientSession) -> None:
        for _ in range(2):
            async with session.get(secure_upstream.url, ssl=context) as response:
                assert await response.text() == "ok"

    bill = bill_of(job)
    assert bill.cell("http.connect") == {"calls": 1}
    assert bill.cell("http.request") == {"calls": 2}


def test_through_a_proxy_the_server_behind_it_is_the_target(bill_of: Run, upstream: Upstream) -> None:
    async def job(session: aiohttp.ClientSession) -> None:
        async with session.get("http://stock.test:8080/there", proxy=upstream.url) as response:
            assert await response.text() == "ok"

    assert set(bill_of(job).targets()) == {("http.connect", upstream.address), ("http.request", "stock.test:8080")}


def test_the_trace_goes_along_what_the_application_set_stays_and_its_headers_are_not_changed(
    bill_of: Run, upstream: Upstream
) -> None:
    own = "00-11111111111111111111111111111111-2222222222222222-00"
    mine = {"X-Mine": "kept"}

    async def job(session: aiohttp.ClientSession) -> None:
        for headers in (mine, {"Traceparent": own}):
            async with session.get(upstream.url, headers=headers):
                pass
        token = otel_context.attach(baggage.set_baggage("tenant", "blue"))
        async with session.get(upstream.url):
            pass
        otel_context.detach(token)

    span = bill_of(job).span
    ours = f"00-{span.trace_id.hex()}-{span.span_id.hex()}-03"
    assert [headers["traceparent"] for headers in upstream.headers] == [ours, own, ours]
    assert [headers.get("baggage") for headers in upstream.headers] == [None, None, "tenant=blue"]
    assert mine == {"X-Mine": "kept"}


def test_what_runs_at_the_same_time_is_covered_once(bill_of: Run, upstream: Upstream) -> None:
    async def job(session: aiohttp.ClientSession) -> None:
        async def read(path: str) -> bytes:
            async with session.get(f"{upstream.url}{path}") as response:
                return await response.read()

        bodies = await asyncio.gather(*[read(path) for path in ["/slow", "/slow-body", "/chunked"] * 4])
        assert bodies == [b"ok", b"late", b"onetwo"] * 4

    bill = bill_of(job)
    assert bill.cell("http.request") == {"calls": len(upstream.paths)} == {"calls": 12}
    assert bill.cell("http.connect") == {"calls": upstream.connections}
    total_ns, covered_ns = sum(bill.times_ns().values()), bill.attributes["walltime.covered_ns"]
    assert covered_ns <= bill.duration_ns
    assert total_ns > 12 * LATE_S * 0.8e9
    assert total_ns > covered_ns, "twelve waits at once took less than twelve waits"


def test_waiting_for_a_connection_of_the_pool_is_part_of_the_request(recorded: Sink, upstream: Upstream) -> None:
    async def job() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as session:

            async def read() -> bytes:
                async with session.get(f"{upstream.url}/slow") as response:
                    return await response.read()

            assert list(await asyncio.gather(read(), read(), read())) == [b"ok"] * 3

    with walltime.transaction("job"):
        asyncio.run(job())
    (bill,) = recorded.transactions()
    assert bill.cell("http.request") == {"calls": 3}
    assert bill.times_ns()["http.request"] > (1 + 2 + 3) * LATE_S * 0.8e9


def test_outside_of_a_transaction_nothing_is_added_and_the_call_is_counted(
    recorded: Sink, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_module, "outside_calls", {})

    async def job() -> None:
        async with aiohttp.ClientSession() as session, session.get(upstream.url) as response:
            assert await response.text() == "ok"

    asyncio.run(job())
    assert "traceparent" not in upstream.headers[0]
    assert recorded.spans() == []
    assert transaction_module.outside_calls == {"aiohttp": 1}
