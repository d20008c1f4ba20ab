"""Idle, stalled and endless connections: what they take from the ports, from ingest and from other readers."""

from __future__ import annotations

import contextlib
import re
import resource
import socket
import ssl
from collections.abc import Iterator

import httpx
import pytest
import trustme

from tests.collector.http.few_descriptors import DESCRIPTORS, ONE_SPAN, FewDescriptors, sends
from tests.servers import eventually, over_http


@pytest.fixture(scope="module", autouse=True)
def _room_for_ourselves() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FewDescriptors]:
    running = FewDescriptors(tmp_path_factory.mktemp("few") / "data", header_deadline_s=5.0)
    with running:
        yield running


@contextlib.contextmanager
def idle(address: tuple[str, int], count: int, data: bytes = b"") -> Iterator[list[socket.socket]]:
    """Connections that send this and nothing more."""
    made: list[socket.socket] = []
    try:
        for _ in range(count):
            made.append(socket.create_connection(address, 20))
            if data:
                with contextlib.suppress(ConnectionError):
                    made[-1].sendall(data)
        yield made
    finally:
        for each in made:
            each.close()


@pytest.mark.parametrize(
    "data", [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"], ids=["silent", "kept alive"]
)
@pytest.mark.parametrize("port", ["web", "clickhouse", "http", "grpc"])
def test_idle_connections_on_any_port_stop_neither_ingest_nor_readers(
    few: FewDescriptors, port: str, data: bytes
) -> None:
    with idle(few.addresses[port], 2 * DESCRIPTORS, data):
        for _ in range(3):
            sends(few)
            eventually(lambda: few.health().get("ok", False))  # 503 while the flood's requests are being answered
            assert over_http("GET", f"http://{':'.join(map(str, few.addresses['clickhouse']))}/ping").text == "Ok.\n"
        assert few.descriptors() < DESCRIPTORS - 40
    counts = few.health()["counts"]
    assert counts[f"closed_{port}_made_room"] + counts.get(f"closed_{port}_limit", 0) > DESCRIPTORS
    said_so = rf"{port} port: \d+ connections closed while idle, to accept others \(the last from 127\.0\.0\.1; "
    eventually(lambda: re.search(said_so, few.log()))


@pytest.mark.parametrize("port", ["web", "clickhouse", "http"])
def test_stalled_requests_are_closed_for_others_too(few: FewDescriptors, port: str) -> None:
    def answers() -> bool:
        # what is refused in the first second is answered in the next
        urls = (f"{few.web_url}/readyz", f"http://{':'.join(map(str, few.addresses['clickhouse']))}/ping")
        return all(over_http("GET", url).status_code == 200 for url in urls) and few.send(ONE_SPAN).status_code == 200

    with idle(few.addresses[port], 2 * DESCRIPTORS, b"GET /healthz HTTP/1.1\r\nX-Unfinished: "):
        eventually(answers)
        assert all(answers() for _ in range(3))


def test_a_connection_with_a_running_request_is_never_closed_for_others(few: FewDescriptors) -> None:
    head = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
    head += b"Content-Length: %d\r\n\r\n" % len(ONE_SPAN)
    with socket.create_connection(few.addresses["http"], 20) as busy:
        busy.sendall(head + ONE_SPAN[:-1])
        with idle(few.addresses["http"], 2 * DESCRIPTORS):
            assert few.send(ONE_SPAN).status_code == 200
        busy.sendall(ONE_SPAN[-1:])
        assert busy.recv(100).startswith(b"HTTP/1.1 200 ")


def test_a_too_small_limit_of_descriptors_is_logged_at_the_start(few: FewDescriptors) -> None:
    assert "this process may open 256 files; 160 are reserved for itself, so at most 72 OTLP connections" in few.log()
    assert "raise the limit to 928" in few.log()


def test_closed_connections_are_in_metrics_and_status(few: FewDescriptors) -> None:
    with idle(few.addresses["web"], DESCRIPTORS):
        metrics = over_http("GET", f"{few.web_url}/metrics").text
        status = over_http("GET", f"{few.web_url}/api/status").json()
    match = re.search(
        r'^walltime_closed_connections_total\{port="web",reason="made_room"\} (\d+)', metrics, re.MULTILINE
    )
    assert match
    assert int(match[1]) >= DESCRIPTORS // 2
    assert status["counts"]["closed_web_made_room"] >= DESCRIPTORS // 2


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FewDescriptors, ssl.SSLContext]]:
    folder = tmp_path_factory.mktemp("secured")
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    certificate = str(folder / "server.pem")
    running = FewDescriptors(folder / "data", tls_certificate=certificate, header_deadline_s=2.0)
    with running:
        yield running, trusting


@pytest.mark.parametrize("port", ["web", "clickhouse", "http", "grpc"])
def test_half_open_handshakes_are_counted_and_closed(secured: tuple[FewDescriptors, ssl.SSLContext], port: str) -> None:
    collector, trusting = secured
    web = collector.web_url.replace("http:", "https:")
    otlp = collector.otlp_url.replace("http:", "https:")
    protobuf = {"content-type": "application/x-protobuf"}
    with idle(collector.addresses[port], 2 * DESCRIPTORS, b"\x16\x03\x01") as made:
        assert httpx.get(f"{web}/healthz", verify=trusting, timeout=20).json()["ok"]
        assert httpx.post(otlp, content=ONE_SPAN, headers=protobuf, verify=trusting, timeout=20).status_code == 200
        assert collector.descriptors() < DESCRIPTORS - 40
        made[-1].settimeout(15)
        with contextlib.suppress(ConnectionError):  # the last one is among those that are let in
            assert made[-1].recv(10) == b""
    counts = httpx.get(f"{web}/healthz", verify=trusting, timeout=20).json()["counts"]
    assert counts[f"closed_{port}_handshake"] >= 1
    assert counts[f"closed_{port}_made_room"] + counts.get(f"closed_{port}_limit", 0) > DESCRIPTORS
