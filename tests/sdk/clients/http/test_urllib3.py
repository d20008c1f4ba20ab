"""urllib3 and requests against a real HTTP server: one line for each server, bodies included, the trace goes along."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import urllib3
import walltime
from opentelemetry import baggage
from opentelemetry import context as otel_context
from urllib3.exceptions import ProtocolError
from walltime.core import transaction as transaction_module
from walltime.core.call import LINES
from walltime.core.execution import current

from tests.sdk.clients.http.upstream import LATE_S, Upstream
from tests.sdk.sink import Sink


@pytest.fixture
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        yield session


def test_a_request_is_one_call_on_its_server_with_the_connect_apart(
    recorded: Sink, upstream: Upstream, session: requests.Session
) -> None:
    with walltime.transaction("job"):
        for _ in range(3):
            assert session.get(f"{upstream.url}/stock?token=hidden").text == "ok"
    bill = recorded.transaction()
    assert bill.cell("http.connect") == {"calls": 1}
    assert bill.cell("http.request") == {"calls": 3}
    assert bill.targets()["http.request", upstream.address]["calls"] == 3
    call = recorded.calls("http.request")[0]
    assert call.attributes["url.full"] == f"{upstream.url}/stock"
    assert call.attributes["http.response.status_code"] == 200
    assert call.attributes["http.request.method"] == "GET"


@pytest.mark.parametrize("path", ["/slow-body", "/chunked"])
@pytest.mark.parametrize("block", [1, 2, 1000])
def test_reading_the_body_is_part_of_its_call_in_however_many_blocks(
    recorded: Sink, upstream: Upstream, session: requests.Session, path: str, block: int
) -> None:
    with walltime.transaction("job"):
        response = session.get(f"{upstream.url}{path}", stream=True)
        assert b"".join(response.iter_content(block)) in {b"late", b"onetwo"}
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 1}
    assert bill.times_ns()["http.request"] > LATE_S * 0.8e9
    (call,) = recorded.calls("http.request")
    assert call.attributes["walltime.own_ns"] == bill.times_ns()["http.request"]
    assert call.duration_ns >= LATE_S * 0.8e9


def test_a_body_read_in_a_thousand_blocks_is_one_record(recorded: Sink, upstream: Upstream) -> None:
    with urllib3.PoolManager() as pool, walltime.transaction("job"):
        response = pool.request("POST", f"{upstream.url}/echo", body=b"x" * 1500, preload_content=False)
        assert len([*response.stream(1)]) == 1500
        execution = current()
        assert execution is not None
        assert [LINES[call[0]].component for call in execution.transaction.calls].count("http.request") == 1
    assert recorded.transaction().cell("http.request") == {"calls": 1}


def test_a_body_read_after_other_calls_is_still_on_its_line(
    recorded: Sink, upstream: Upstream, session: requests.Session
) -> None:
    with walltime.transaction("job"):
        first = session.get(f"{upstream.url}/slow-body", stream=True)
        with walltime.component("between"):
            pass
        assert first.content == b"late"
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 1}
    assert bill.times_ns()["http.request"] > LATE_S * 0.8e9
    (call,), (between,) = recorded.calls("http.request"), recorded.calls("between")
    assert call.span.end_time_unix_nano >= between.span.end_time_unix_nano  # its span is the whole call


def test_client_and_server_errors_are_errors_with_their_status(recorded: Sink, upstream: Upstream) -> None:
    with urllib3.PoolManager(retries=False) as pool, walltime.transaction("job"):
        assert pool.request("GET", f"{upstream.url}/missing").status == 404
        assert pool.request("GET", f"{upstream.url}/broken").status == 503
    assert recorded.transaction().cell("http.request") == {"calls": 2, "errors": 2}
    assert [call.attributes["error.type"] for call in recorded.calls("http.request")] == ["404", "503"]


def test_each_attempt_is_a_call_with_its_own_status_and_the_retries_have_a_line(
    recorded: Sink, upstream: Upstream
) -> None:
    retries = urllib3.Retry(total=2, status_forcelist=[503], backoff_factor=0)
    with urllib3.PoolManager(retries=retries) as pool, walltime.transaction("job"):
        assert pool.request("GET", f"{upstream.url}/flaky").status == 200
    assert upstream.paths == ["/flaky", "/flaky"]
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 2, "errors": 1}
    assert bill.cell("http.retry") == {"calls": 1}
    first, second = recorded.calls("http.request")
    assert (first.attributes["http.response.status_code"], second.attributes["http.response.status_code"]) == (503, 200)
    assert first.span.end_time_unix_nano <= second.span.start_time_unix_nano
    assert "http.request.resend_count" not in first.attributes
    assert second.attributes["http.request.resend_count"] == 1


def test_waiting_before_the_next_attempt_is_on_the_line_of_the_retries(recorded: Sink, upstream: Upstream) -> None:
    retries = urllib3.Retry(total=3, status_forcelist=[503], backoff_factor=0.05, raise_on_status=False)
    with urllib3.PoolManager(retries=retries) as pool, walltime.transaction("job"):
        assert pool.request("GET", f"{upstream.url}/broken").status == 503
    bill = recorded.transaction()
    assert len(upstream.paths) == bill.cell("http.request")["calls"] == 4
    assert bill.cell("http.retry") == {"calls": 3}
    assert bill.times_ns()["http.retry"] > 0.1e9  # 0, 0.1 and 0.2 s
    assert [call.attributes.get("http.request.resend_count", 0) for call in recorded.calls("http.request")] == [
        0, 1, 2, 3,
    ]  # fmt: skip


def test_each_hop_of_a_redirect_is_a_call_and_no_retry(
    recorded: Sink, upstream: Upstream, session: requests.Session
) -> None:
    with Upstream() as elsewhere, urllib3.PoolManager() as pool, walltime.transaction("job"):
        assert session.get(f"{upstream.url}/redirect?to={elsewhere.url}/here").text == "ok"
        assert pool.request("GET", f"{upstream.url}/redirect?to={elsewhere.url}/there").data == b"ok"
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 4}
    assert bill.targets()["http.request", upstream.address]["calls"] == len(upstream.paths) == 2
    assert bill.targets()["http.request", elsewhere.address]["calls"] == len(elsewhere.paths) == 2
    assert bill.cell("http.retry") == {}
    assert all("http.request.resend_count" not in call.attributes for call in recorded.calls("http.request"))


def test_a_refused_connection_is_an_error_of_both_lines(recorded: Sink, session: requests.Session) -> None:
    with walltime.transaction("job"), pytest.raises(requests.ConnectionError):
        session.get("http://127.0.0.1:1/")
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 1, "errors": 1}
    assert bill.cell("http.connect") == {"calls": 1, "errors": 1}


def test_a_reset_is_an_error_of_the_request(recorded: Sink, upstream: Upstream) -> None:
    with urllib3.PoolManager(retries=False) as pool, walltime.transaction("job"), pytest.raises(ProtocolError):
        pool.request("GET", f"{upstream.url}/reset")
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 1, "errors": 1}
    assert bill.cell("http.connect") == {"calls": 1}
    assert upstream.paths == ["/reset"]


@pytest.mark.parametrize("block", [None, 2, 1000])
def test_a_body_that_breaks_off_is_an_error_of_its_call(recorded: Sink, upstream: Upstream, block: int | None) -> None:
    with urllib3.PoolManager() as pool, walltime.transaction("job"):
        response = pool.request("GET", f"{upstream.url}/cut", preload_content=False)
        with pytest.raises(ProtocolError):
            b"".join(response.stream(block)) if block else response.read()
    assert recorded.transaction().cell("http.request") == {"calls": 1, "errors": 1}
    (call,) = recorded.calls("http.request")
    assert call.attributes["error.type"] == "IncompleteRead"


def test_without_http_client_the_body_is_measured_and_nothing_of_http_client_itself(
    recorded: Sink, upstream: Upstream
) -> None:
    walltime.uninstrument()
    walltime.instrument("urllib3")
    connection = http.client.HTTPConnection(upstream.address)
    with urllib3.PoolManager() as pool, walltime.transaction("job"):
        assert pool.request("GET", f"{upstream.url}/slow-body", preload_content=False).read() == b"late"
        connection.request("GET", "/stock")
        assert connection.getresponse().read() == b"ok"
    connection.close()
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 1}
    assert bill.times_ns()["http.request"] > LATE_S * 0.8e9


def test_over_tls_the_connect_is_one_call_and_the_handshake_is_in_it(
    recorded: Sink, secure_upstream: Upstream, certificate: tuple[Path, Path], session: requests.Session
) -> None:
    with walltime.transaction("job"):
        for _ in range(2):
            assert session.get(f"{secure_upstream.url}/", verify=str(certificate[0])).text == "ok"
    bill = recorded.transaction()
    assert bill.cell("http.connect") == {"calls": 1}
    assert bill.cell("http.request") == {"calls": 2}
    assert 0 < bill.attributes["walltime.http.connect.cpu_ns"] <= bill.times_ns()["http.connect"]
    assert recorded.calls("http.request")[0].attributes["url.full"] == f"{secure_upstream.url}/"


def test_through_a_proxy_the_server_behind_it_is_the_target(recorded: Sink, upstream: Upstream) -> None:
    with urllib3.ProxyManager(upstream.url) as proxy, walltime.transaction("job"):
        assert proxy.request("GET", "http://stock.test:8080/there").data == b"ok"
        assert proxy.request("GET", "http://prices.test/there").data == b"ok"
    bill = recorded.transaction()
    assert set(bill.targets()) == {
        ("http.connect", upstream.address),
        ("http.request", "stock.test:8080"),
        ("http.request", "prices.test:80"),
    }
    assert len(upstream.paths) == bill.cell("http.request")["calls"] == 2


def test_the_next_service_is_told_the_transaction_as_its_parent(
    recorded: Sink, upstream: Upstream, session: requests.Session
) -> None:
    with walltime.transaction("job"):
        session.get(f"{upstream.url}/", headers={"X-Mine": "kept"})
    span = recorded.transaction().span
    (headers,) = upstream.headers
    assert headers["traceparent"] == f"00-{span.trace_id.hex()}-{span.span_id.hex()}-03"  # sampled, random id
    assert headers["x-mine"] == "kept"


@pytest.mark.parametrize("name", ["traceparent", "Traceparent", "TraceParent"])
def test_a_traceparent_the_application_sets_itself_stays(
    recorded: Sink, upstream: Upstream, session: requests.Session, name: str
) -> None:
    own = "00-11111111111111111111111111111111-2222222222222222-00"
    with urllib3.PoolManager() as pool, walltime.transaction("job"):
        session.get(f"{upstream.url}/", headers={name: own})
        pool.request("GET", f"{upstream.url}/", headers={name: own})
    assert [headers["traceparent"] for headers in upstream.headers] == [own, own]


def test_the_applications_headers_are_not_changed(recorded: Sink, upstream: Upstream) -> None:
    headers = {"X-Mine": "kept"}
    with urllib3.PoolManager(headers=headers) as pool:
        for _ in range(2):
            with walltime.transaction("job"):
                pool.request("GET", f"{upstream.url}/", headers=headers)
                pool.request("GET", f"{upstream.url}/")
    assert headers == pool.headers == {"X-Mine": "kept"}
    sent = [headers["traceparent"][3:35] for headers in upstream.headers]
    first, second = (span.span.trace_id.hex() for span in recorded.transactions())
    assert sent == [first, first, second, second]


def test_baggage_goes_along_also_when_it_changes(recorded: Sink, upstream: Upstream, session: requests.Session) -> None:
    with walltime.transaction("job"):
        session.get(f"{upstream.url}/")
        token = otel_context.attach(baggage.set_baggage("tenant", "blue\r\nX-Forged: yes"))
        session.get(f"{upstream.url}/")
        otel_context.detach(token)
    assert [headers.get("baggage") for headers in upstream.headers] == [None, "tenant=blue%0D%0AX-Forged%3A+yes"]


def test_outside_of_a_transaction_nothing_is_added_and_the_call_is_counted(
    recorded: Sink, upstream: Upstream, session: requests.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_module, "outside_calls", {})
    session.get(f"{upstream.url}/")
    assert "traceparent" not in upstream.headers[0]
    assert recorded.spans() == []
    assert transaction_module.outside_calls["urllib3"] == 2  # the connect is one too
