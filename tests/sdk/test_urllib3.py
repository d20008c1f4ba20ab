"""urllib3 and requests against a real HTTP server: one line for each server, bodies included, the trace goes along."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import urllib3
import walltime
from opentelemetry import baggage
from opentelemetry import context as otel_context

from tests.sdk.sink import Sink


class Upstream:
    """Answers what its path asks for and keeps the headers it saw."""

    def __enter__(self) -> Upstream:
        self.headers: list[dict[str, str]] = []
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                upstream.headers.append({name.lower(): value for name, value in self.headers.items()})
                path = self.path.partition("?")[0]
                self.send_response({"/missing": 404, "/broken": 503}.get(path, 200))
                if path == "/slow-body":
                    self.send_header("Content-Length", "4")
                    self.end_headers()
                    self.wfile.flush()
                    time.sleep(0.1)
                    self.wfile.write(b"late")
                elif path == "/chunked":
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    for block in (b"one", b"two"):
                        time.sleep(0.05)
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    self.send_header("Content-Length", "2")
                    self.end_headers()
                    self.wfile.write(b"ok")

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as running:
        yield running


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
            assert session.get(f"http://{upstream.address}/stock?token=hidden").text == "ok"
    bill = recorded.transaction()
    assert bill.cell("http.connect") == {"calls": 1}
    assert bill.cell("http.request") == {"calls": 3}
    assert bill.targets()["http.request", upstream.address]["calls"] == 3
    call = recorded.calls("http.request")[0]
    assert call.attributes["url.full"] == f"http://{upstream.address}/stock"
    assert call.attributes["http.response.status_code"] == 200
    assert call.attributes["http.request.method"] == "GET"


@pytest.mark.parametrize("path", ["/slow-body", "/chunked"])
def test_reading_the_body_is_on_the_same_line(
    recorded: Sink, upstream: Upstream, session: requests.Session, path: str
) -> None:
    with walltime.transaction("job"):
        response = session.get(f"http://{upstream.address}{path}", stream=True)
        assert response.content in {b"late", b"onetwo"}
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 1}
    assert bill.times_ns()["http.request"] > 80_000_000
    assert len(recorded.calls("http.request")) == 1


def test_client_and_server_errors_are_errors_with_their_status(recorded: Sink, upstream: Upstream) -> None:
    with urllib3.PoolManager(retries=False) as pool, walltime.transaction("job"):
        assert pool.request("GET", f"http://{upstream.address}/missing").status == 404
        assert pool.request("GET", f"http://{upstream.address}/broken").status == 503
    assert recorded.transaction().cell("http.request") == {"calls": 2, "errors": 2}
    assert [call.attributes["error.type"] for call in recorded.calls("http.request")] == ["404", "503"]


def test_each_attempt_is_a_call(recorded: Sink, upstream: Upstream) -> None:
    retries = urllib3.Retry(total=2, status_forcelist=[503], backoff_factor=0, raise_on_status=False)
    with urllib3.PoolManager(retries=retries) as pool, walltime.transaction("job"):
        assert pool.request("GET", f"http://{upstream.address}/broken").status == 503
    assert len(upstream.headers) == 3
    assert recorded.transaction().cell("http.request") == {"calls": 3, "errors": 3}


def test_a_refused_connection_is_an_error_of_both_lines(recorded: Sink, session: requests.Session) -> None:
    with walltime.transaction("job"), pytest.raises(requests.ConnectionError):
        session.get("http://127.0.0.1:1/")
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": 1, "errors": 1}
    assert bill.cell("http.connect") == {"calls": 1, "errors": 1}


def test_the_next_service_is_told_the_transaction_as_its_parent(
    recorded: Sink, upstream: Upstream, session: requests.Session
) -> None:
    with walltime.transaction("job"):
        session.get(f"http://{upstream.address}/", headers={"X-Mine": "kept"})
    span = recorded.transaction().span
    (headers,) = upstream.headers
    assert headers["traceparent"] == f"00-{span.trace_id.hex()}-{span.span_id.hex()}-03"  # sampled, random id
    assert headers["x-mine"] == "kept"


def test_a_traceparent_the_application_sets_itself_stays(
    recorded: Sink, upstream: Upstream, session: requests.Session
) -> None:
    own = "00-11111111111111111111111111111111-2222222222222222-00"
    with walltime.transaction("job"):
        session.get(f"http://{upstream.address}/", headers={"Traceparent": own})
    assert upstream.headers[0]["traceparent"] == own


def test_baggage_goes_along_also_when_it_changes(recorded: Sink, upstream: Upstream, session: requests.Session) -> None:
    with walltime.transaction("job"):
        session.get(f"http://{upstream.address}/")
        token = otel_context.attach(baggage.set_baggage("tenant", "blue"))
        session.get(f"http://{upstream.address}/")
        otel_context.detach(token)
    assert [headers.get("baggage") for headers in upstream.headers] == [None, "tenant=blue"]


def test_outside_of_a_transaction_nothing_is_added(
    recorded: Sink, upstream: Upstream, session: requests.Session
) -> None:
    session.get(f"http://{upstream.address}/")
    assert "traceparent" not in upstream.headers[0]
    assert recorded.spans() == []
