"""http.client used by itself, and through urllib.request and xmlrpc: one call a request, and none counted twice."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
import xmlrpc.client
from pathlib import Path
from typing import Any

import pytest
import requests
import walltime
from walltime.core import transaction as transaction_module

from tests.sdk.clients.http.upstream import LATE_S, Upstream
from tests.sdk.sink import Sink

opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def test_a_request_is_one_call_on_its_server_with_the_connect_apart(recorded: Sink, upstream: Upstream) -> None:
    connection = http.client.HTTPConnection(upstream.address)
    with walltime.transaction("job"):
        for _ in range(3):
            connection.request("GET", "/stock?token=hidden")
            assert connection.getresponse().read() == b"ok"
    connection.close()
    bill = recorded.transaction()
    assert bill.cell("http.connect") == {"calls": upstream.connections} == {"calls": 1}
    assert bill.cell("http.request") == {"calls": len(upstream.paths)} == {"calls": 3}
    assert bill.targets()["http.request", upstream.address]["calls"] == 3
    call = recorded.calls("http.request")[0]
    assert call.attributes["url.full"] == f"{upstream.url}/stock"
    assert call.attributes["http.request.method"] == "GET"
    assert call.attributes["http.response.status_code"] == 200


def test_urllib_request_is_measured_hop_by_hop(recorded: Sink, upstream: Upstream) -> None:
    with Upstream() as elsewhere, walltime.transaction("job"):
        with opener.open(f"{upstream.url}/redirect?to={elsewhere.url}/here") as response:
            assert response.read() == b"ok"
        with pytest.raises(urllib.error.HTTPError) as missing:
            opener.open(f"{upstream.url}/missing")
        missing.value.close()
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 3, "errors": 1}
    assert bill.cell("http.connect") == {"calls": 3}  # it never keeps a connection
    assert bill.targets()["http.request", upstream.address]["calls"] == len(upstream.paths) == 2
    assert bill.targets()["http.request", elsewhere.address]["calls"] == len(elsewhere.paths) == 1


def test_requests_that_are_put_together_line_by_line_are_measured_too(recorded: Sink, upstream: Upstream) -> None:
    proxy = xmlrpc.client.ServerProxy(f"{upstream.url}/broken")
    with walltime.transaction("job"), pytest.raises(xmlrpc.client.ProtocolError):
        proxy.system.listMethods()
    proxy("close")()
    assert recorded.transaction().cell("http.request") == {"calls": 1, "errors": 1}
    (call,) = recorded.calls("http.request")
    assert call.attributes["http.request.method"] == "POST"
    assert call.attributes["url.full"] == f"{upstream.url}/broken"
    assert "traceparent" in upstream.headers[0]


@pytest.mark.parametrize("path", ["/slow-body", "/chunked"])
@pytest.mark.parametrize("how", ["read", "blocks", "into", "lines"])
def test_reading_the_body_is_part_of_its_call(recorded: Sink, upstream: Upstream, path: str, how: str) -> None:
    with walltime.transaction("job"), opener.open(f"{upstream.url}{path}") as response:
        assert _read(response, how) in {b"late", b"onetwo"}
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 1}
    assert bill.times_ns()["http.request"] > LATE_S * 0.8e9


def _read(response: Any, how: str) -> bytes:
    if how == "blocks":
        return b"".join(iter(lambda: response.read(amt=3), b""))
    if how == "into":
        buffer = bytearray(100)
        length = 0
        while read := response.readinto(memoryview(buffer)[length:]):
            length += read
        return bytes(buffer[:length])
    return b"".join(response) if how == "lines" else bytes(response.read())


def test_a_refused_connection_is_an_error_of_both_lines(recorded: Sink) -> None:
    with walltime.transaction("job"), pytest.raises(urllib.error.URLError):
        opener.open("http://127.0.0.1:1/")
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 1, "errors": 1}
    assert bill.cell("http.connect") == {"calls": 1, "errors": 1}


def test_a_reset_and_a_body_that_breaks_off_are_errors_of_their_calls(recorded: Sink, upstream: Upstream) -> None:
    with walltime.transaction("job"):
        with pytest.raises(OSError, match="reset by peer"):
            opener.open(f"{upstream.url}/reset")
        with opener.open(f"{upstream.url}/cut") as response, pytest.raises(http.client.IncompleteRead):
            response.read()
    assert len(upstream.paths) == 2
    assert recorded.transaction().cell("http.request") == {"calls": 2, "errors": 2}


def test_a_body_that_breaks_off_is_an_error_also_where_nothing_is_raised_and_a_closed_one_is_none(
    recorded: Sink, upstream: Upstream
) -> None:
    with walltime.transaction("job"):
        with opener.open(f"{upstream.url}/cut") as response:
            assert len(response.read(1000)) < 1000
            assert response.read(1000) == b""
        with opener.open(f"{upstream.url}/stock") as response:
            assert response.read(1) == b"o"
            response.close()
            assert response.read() == b""
    assert recorded.transaction().cell("http.request") == {"calls": 2, "errors": 1}


def test_over_tls_the_connect_is_one_call_and_the_handshake_is_in_it(
    recorded: Sink, secure_upstream: Upstream, certificate: tuple[Path, Path]
) -> None:
    tls = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=str(certificate[0])))
    secure = urllib.request.build_opener(urllib.request.ProxyHandler({}), tls)
    with walltime.transaction("job"), secure.open(secure_upstream.url) as response:
        assert response.read() == b"ok"
    bill = recorded.transaction()
    assert bill.cell("http.connect") == {"calls": 1}
    assert bill.cell("http.request") == {"calls": 1}
    assert recorded.calls("http.request")[0].attributes["url.full"] == f"{secure_upstream.url}/"


def test_through_a_proxy_the_server_behind_it_is_the_target(recorded: Sink, upstream: Upstream) -> None:
    through = urllib.request.build_opener(urllib.request.ProxyHandler({"http": upstream.url}))
    with walltime.transaction("job"), through.open("http://stock.test:8080/there") as response:
        assert response.read() == b"ok"
    assert set(recorded.transaction().targets()) == {
        ("http.connect", upstream.address),
        ("http.request", "stock.test:8080"),
    }


def test_what_urllib3_measures_is_not_measured_again(recorded: Sink, upstream: Upstream) -> None:
    for libraries in (["urllib3", "http_client"], ["http_client", "urllib3"]):  # whoever is wrapped first
        walltime.uninstrument()
        for library in libraries:
            walltime.instrument(library)
        with requests.Session() as session, walltime.transaction("job"):
            session.trust_env = False
            assert session.get(f"{upstream.url}/slow-body").content == b"late"
    for bill in recorded.transactions():
        assert bill.cell("http.request") == {"calls": 1}
        assert bill.cell("http.connect") == {"calls": 1}
    assert [headers["traceparent"].count(",") for headers in upstream.headers] == [0, 0]


def test_the_trace_goes_along_and_what_the_application_set_stays(recorded: Sink, upstream: Upstream) -> None:
    own = "00-11111111111111111111111111111111-2222222222222222-00"
    with walltime.transaction("job"):
        for headers in ({}, {"Traceparent": own}):
            request = urllib.request.Request(upstream.url, headers=headers)  # noqa: S310  # http:// of our own
            opener.open(request).close()
    span = recorded.transaction().span
    ours = f"00-{span.trace_id.hex()}-{span.span_id.hex()}-03"
    assert [headers["traceparent"] for headers in upstream.headers] == [ours, own]


def test_our_own_exports_are_no_calls_of_the_application(recorded: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_module, "outside_calls", {})
    for _ in range(3):
        with walltime.transaction("job"):
            pass
        walltime.flush()
    assert len(recorded.requests) == 3
    assert transaction_module.outside_calls == {}
    assert [bill.cell("http.request") for bill in recorded.transactions()] == [{}, {}, {}]


def test_an_answer_to_a_request_from_before_the_transaction_is_not_taken_for_one_of_it(
    recorded: Sink, upstream: Upstream
) -> None:
    connection = http.client.HTTPConnection(upstream.address)
    connection.request("GET", "/")
    with walltime.transaction("job"):
        assert connection.getresponse().read() == b"ok"
    with walltime.transaction("job"):
        connection.request("GET", "/")
    assert connection.getresponse().read() == b"ok"
    connection.request("GET", "/")
    with walltime.transaction("job"):
        assert connection.getresponse().read() == b"ok"
    connection.close()
    assert [bill.cell("http.request").get("calls", 0) for bill in recorded.transactions()] == [0, 0, 0]
