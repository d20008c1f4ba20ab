"""httpx, sync and asyncio, against a real HTTP server: what is on the bill is what the server saw."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import walltime
from opentelemetry import baggage
from opentelemetry import context as otel_context
from walltime.core import transaction as transaction_module

from tests.sdk.clients.http.upstream import LATE_S, Upstream
from tests.sdk.sink import Sink


@pytest.fixture
def client(recorded: Sink) -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False) as client:
        yield client


def test_a_request_is_one_call_on_its_server_with_the_connect_apart(
    recorded: Sink, upstream: Upstream, client: httpx.Client
) -> None:
    with walltime.transaction("job"):
        for _ in range(3):
            assert client.get(f"{upstream.url}/stock?token=hidden").text == "ok"
    bill = recorded.transaction()
    assert bill.cell("http.connect") == {"calls": upstream.connections} == {"calls": 1}
    assert bill.cell("http.request") == {"calls": len(upstream.paths)} == {"calls": 3}
    assert bill.targets()["http.request", upstream.address]["calls"] == 3
    assert bill.targets()["http.connect", upstream.address]["calls"] == 1
    call = recorded.calls("http.request")[0]
    assert call.attributes["url.full"] == f"{upstream.url}/stock"
    assert call.attributes["http.response.status_code"] == 200
    assert call.attributes["http.request.method"] == "GET"


@pytest.mark.parametrize("path", ["/slow-body", "/chunked"])
@pytest.mark.parametrize("streamed", [False, True])
def test_reading_the_body_is_part_of_its_call(
    recorded: Sink, upstream: Upstream, client: httpx.Client, path: str, streamed: bool
) -> None:
    with walltime.transaction("job"):
        if streamed:
            with client.stream("GET", f"{upstream.url}{path}") as response:
                assert b"".join(response.iter_bytes(2)) in {b"late", b"onetwo"}
        else:
            assert client.get(f"{upstream.url}{path}").content in {b"late", b"onetwo"}
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 1}
    assert bill.times_ns()["http.request"] > LATE_S * 0.8e9
    (call,) = recorded.calls("http.request")
    assert call.attributes["walltime.own_ns"] == bill.times_ns()["http.request"]


def test_each_hop_of_a_redirect_and_each_round_of_authentication_is_a_call(
    recorded: Sink, upstream: Upstream, client: httpx.Client
) -> None:
    class Twice(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
            yield request
            request.headers["Authorization"] = "again"
            yield request

    with Upstream() as elsewhere, walltime.transaction("job"):
        to = f"{upstream.url}/redirect?to={elsewhere.url}/here"
        assert client.get(to, follow_redirects=True).text == "ok"
        assert client.get(f"{upstream.url}/broken", auth=Twice()).status_code == 503
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 4, "errors": 2}
    assert bill.targets()["http.request", upstream.address]["calls"] == len(upstream.paths) == 3
    assert bill.targets()["http.request", elsewhere.address]["calls"] == len(elsewhere.paths) == 1
    sent = {headers["traceparent"] for headers in upstream.headers + elsewhere.headers}
    assert len(sent) == 1


def test_failures_are_errors_and_reach_the_caller_as_they_are(
    recorded: Sink, upstream: Upstream, client: httpx.Client
) -> None:
    with walltime.transaction("job"):
        with pytest.raises(httpx.ConnectError):
            client.get("http://127.0.0.1:1/")
        with pytest.raises(httpx.ReadError):
            client.get(f"{upstream.url}/reset")
        with pytest.raises(httpx.RemoteProtocolError):
            client.get(f"{upstream.url}/cut")
        with pytest.raises(httpx.ReadTimeout):
            client.get(f"{upstream.url}/slow", timeout=httpx.Timeout(5, read=LATE_S / 5))
        assert client.get(f"{upstream.url}/missing").status_code == 404
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 5, "errors": 5}
    assert bill.cell("http.connect")["errors"] == 1
    assert bill.targets()["http.request", upstream.address]["calls"] == len(upstream.paths) == 4


def test_over_tls_the_handshake_is_part_of_the_connect(
    recorded: Sink, secure_upstream: Upstream, certificate: tuple[Path, Path]
) -> None:
    import ssl

    context = ssl.create_default_context(cafile=str(certificate[0]))
    with httpx.Client(trust_env=False, verify=context) as client, walltime.transaction("job"):
        for _ in range(2):
            assert client.get(secure_upstream.url).text == "ok"
    bill = recorded.transaction()
    assert bill.cell("http.connect") == {"calls": 1}
    assert bill.cell("http.request") == {"calls": 2}


def test_mounts_and_transports_of_the_application_count_too(recorded: Sink, upstream: Upstream) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=request.headers.get("traceparent", "none"))

    mounts: dict[str, httpx.BaseTransport | None] = {
        "http://mocked.test": httpx.MockTransport(answer),
        "all://": httpx.HTTPTransport(),
    }
    with httpx.Client(trust_env=False, mounts=mounts) as client, walltime.transaction("job"):
        mocked = client.get("http://mocked.test/x").text
        assert client.get(upstream.url).text == "ok"
    bill = recorded.transaction()
    assert mocked == upstream.headers[0]["traceparent"]
    assert bill.targets()["http.request", "mocked.test:80"]["calls"] == 1
    assert bill.targets()["http.request", upstream.address]["calls"] == 1
    assert bill.cell("http.connect") == {"calls": 1}


def test_the_trace_goes_along_what_the_application_set_stays_and_its_request_is_not_changed(
    recorded: Sink, upstream: Upstream, client: httpx.Client
) -> None:
    own = "00-11111111111111111111111111111111-2222222222222222-00"
    request = client.build_request("GET", upstream.url)
    before = request.headers.multi_items()
    with walltime.transaction("job"):
        client.send(request)
        client.get(upstream.url, headers={"Traceparent": own})
    with walltime.transaction("job"):
        token = otel_context.attach(baggage.set_baggage("tenant", "blue"))
        client.send(request)
        otel_context.detach(token)
    assert request.headers.multi_items() == before
    first, second = (f"00-{s.span.trace_id.hex()}-{s.span.span_id.hex()}-03" for s in recorded.transactions())
    assert [headers["traceparent"] for headers in upstream.headers] == [first, own, second]
    assert [headers.get("baggage") for headers in upstream.headers] == [None, None, "tenant=blue"]


def test_outside_of_a_transaction_nothing_is_added_and_the_call_is_counted(
    recorded: Sink, upstream: Upstream, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_module, "outside_calls", {})
    assert client.get(upstream.url).text == "ok"
    assert "traceparent" not in upstream.headers[0]
    assert recorded.spans() == []
    assert transaction_module.outside_calls == {"httpx": 1, "httpcore": 1}


# ---- asyncio ----


def test_asynchronous_requests_are_on_the_bill_as_the_server_saw_them(recorded: Sink, upstream: Upstream) -> None:
    async def job() -> None:
        async with httpx.AsyncClient(trust_env=False, follow_redirects=True) as client:
            for _ in range(2):
                assert (await client.get(f"{upstream.url}/stock")).text == "ok"
            assert (await client.get(f"{upstream.url}/redirect?to=/here")).text == "ok"
            async with client.stream("GET", f"{upstream.url}/chunked") as response:
                assert b"".join([block async for block in response.aiter_bytes(2)]) == b"onetwo"
            with pytest.raises(httpx.ReadError):
                await client.get(f"{upstream.url}/reset")
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get(f"{upstream.url}/cut")
            with pytest.raises(httpx.ConnectError):
                await client.get("http://127.0.0.1:1/")

    with walltime.transaction("job"):
        asyncio.run(job())
    (bill,) = recorded.transactions()
    assert bill.cell("http.request") == {"calls": len(upstream.paths) + 1, "errors": 3}
    assert bill.targets()["http.request", upstream.address]["calls"] == len(upstream.paths) == 7
    assert bill.cell("http.connect") == {"calls": upstream.connections + 1, "errors": 1}
    assert bill.times_ns()["http.request"] > LATE_S * 0.8e9
    traceparent = f"00-{bill.span.trace_id.hex()}-{bill.span.span_id.hex()}-03"
    assert {headers["traceparent"] for headers in upstream.headers} == {traceparent}


def test_what_runs_at_the_same_time_is_covered_once(recorded: Sink, upstream: Upstream) -> None:
    async def job() -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            paths = ["/slow", "/slow-body", "/chunked"] * 4
            answers = await asyncio.gather(*[client.get(f"{upstream.url}{path}") for path in paths])
            assert [answer.status_code for answer in answers] == [200] * 12

    with walltime.transaction("job"):
        asyncio.run(job())
    (bill,) = recorded.transactions()
    assert bill.cell("http.request") == {"calls": len(upstream.paths)} == {"calls": 12}
    assert bill.cell("http.connect") == {"calls": upstream.connections}
    total_ns, covered_ns = sum(bill.times_ns().values()), bill.attributes["walltime.covered_ns"]
    assert covered_ns <= bill.duration_ns
    assert total_ns > 12 * LATE_S * 0.8e9
    assert total_ns > covered_ns, "twelve waits at once took less than twelve waits"


def test_a_cancelled_request_is_an_error_and_the_next_ones_are_right(recorded: Sink, upstream: Upstream) -> None:
    async def job() -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.get(f"{upstream.url}/slow"), LATE_S / 5)
            assert (await client.get(f"{upstream.url}/")).text == "ok"

    with walltime.transaction("job"):
        asyncio.run(job())
    (bill,) = recorded.transactions()
    assert bill.cell("http.request") == {"calls": 2, "errors": 1}


def test_a_body_that_nobody_reads_to_its_end_is_closed_as_without_us(recorded: Sink, upstream: Upstream) -> None:
    async def first_block(blocks: AsyncIterator[bytes]) -> bytes:
        async for block in blocks:
            return block
        return b""

    async def job() -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            async with client.stream("GET", f"{upstream.url}/chunked") as response:
                assert await first_block(response.aiter_raw()) == b"one"
            assert (await client.get(f"{upstream.url}/")).text == "ok"

    with walltime.transaction("job"):
        asyncio.run(job())
    assert recorded.transactions()[0].cell("http.request") == {"calls": 2}
