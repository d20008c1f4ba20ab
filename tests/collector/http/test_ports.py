"""Idle, stalled and endless connections: what they take from the ports, from ingest and from other readers."""

from __future__ import annotations

import contextlib
import re
import resource
import socket
import ssl
from collections.abc import Callable, Iterator
from itertools import product

import grpc
import httpx
import pytest
import trustme

from tests.by_day import by_day
from tests.collector.http.few_descriptors import DESCRIPTORS, ONE_SPAN, FewDescriptors, Flood, sends
from tests.collector.receive import http2_frames as frames
from tests.servers import eventually, over_http


@pytest.fixture(scope="module", autouse=True)
def _room_for_ourselves() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FewDescriptors]:
    directory = tmp_path_factory.mktemp("few") / "data"
    # longer than a test: only the limits close connections
    running = FewDescriptors(directory, header_deadline_s=120.0, request_deadline_s=120.0)
    with running:
        yield running


@pytest.fixture
def few(running: FewDescriptors) -> FewDescriptors:
    """The collector, after it has noticed that the connections of the test before are closed."""
    eventually(lambda: succeeds(lambda: answers(running)))
    return running


def answers(collector: FewDescriptors) -> None:
    """Ingest and readers get their answers."""
    sends(collector)
    reads(collector)


def reads(collector: FewDescriptors) -> None:
    """The ports of readers answer."""
    assert over_http("GET", f"{collector.web_url}/readyz").status_code == 200
    assert over_http("GET", f"http://{':'.join(map(str, collector.addresses['clickhouse']))}/ping").text == "Ok.\n"


def succeeds(claim: Callable[[], object]) -> bool:
    """Whether a claim that may be refused holds now."""
    try:
        claim()
    except (AssertionError, httpx.HTTPError, grpc.RpcError):
        return False
    return True


def closed(before: dict[str, int], after: dict[str, int], port: str, *reasons: str) -> int:
    """How many connections of the port were closed for these reasons in between."""
    names = [f"closed_{port}_{reason}" for reason in reasons]
    return sum(after.get(name, 0) - before.get(name, 0) for name in names)


KEPT_ALIVE = {
    "web": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "clickhouse": b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "http": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "grpc": frames.PREFACE + frames.settings({}),
}
"""What each port answers without closing the connection."""


@pytest.mark.parametrize(
    ("port", "is_kept_alive"), by_day(product(["web", "clickhouse", "http", "grpc"], [False, True]), 5)
)
def test_idle_connections_on_any_port_stop_neither_ingest_nor_readers(
    few: FewDescriptors, port: str, is_kept_alive: bool
) -> None:
    before = few.health()["counts"]
    with Flood(few, port, KEPT_ALIVE[port] if is_kept_alive else b"") as flood:
        for _ in range(3):  # the ports with other limits do not even notice
            (sends if port in ("web", "clickhouse") else reads)(few)
        # until then a request to the flooded port may be refused: all connections can be in use
        eventually(flood.is_answered if is_kept_alive else flood.is_accepted)
        for _ in range(3):
            answers(few)
        eventually(lambda: few.health()["ok"])
        assert few.descriptors() < DESCRIPTORS - 40
    after = few.health()["counts"]
    assert closed(before, after, port, "made_room")
    assert closed(before, after, port, "made_room", "limit") > DESCRIPTORS
    logged = rf"{port} port: \d+ connections closed while idle, to accept others \(the last from 127\.0\.0\.1; "
    eventually(lambda: re.search(logged, few.log()))


@pytest.mark.parametrize("port", ["web", "clickhouse", "http"])
def test_stalled_requests_are_closed_for_others_too(few: FewDescriptors, port: str) -> None:
    with Flood(few, port, b"GET /healthz HTTP/1.1\r\nX-Unfinished: "):
        # what is refused in the first second is answered in the next
        eventually(lambda: all(succeeds(lambda: answers(few)) for _ in range(4)))


def test_a_connection_with_a_running_request_is_never_closed_for_others(few: FewDescriptors) -> None:
    head = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
    head += b"Content-Length: %d\r\n\r\n" % len(ONE_SPAN)
    with socket.create_connection(few.addresses["http"], 20) as busy, contextlib.ExitStack() as floods:
        busy.sendall(head + ONE_SPAN[:-16])
        for at in range(-16, -1):  # a body that stalls is no running request
            floods.enter_context(Flood(few, "http", count=DESCRIPTORS // 7))
            busy.sendall(ONE_SPAN[at:][:1])
        assert few.send(ONE_SPAN).status_code == 200
        busy.sendall(ONE_SPAN[-1:])
        assert busy.recv(100).startswith(b"HTTP/1.1 200 ")


def test_a_too_small_limit_of_descriptors_is_logged_at_the_start(few: FewDescriptors) -> None:
    assert "this process may open 256 files; 160 are reserved for itself, so at most 72 OTLP connections" in few.log()
    assert "raise the limit to 928" in few.log()


def test_closed_connections_are_in_metrics_and_status(few: FewDescriptors) -> None:
    before = few.health()["counts"].get("closed_web_made_room", 0)
    with Flood(few, "web", count=DESCRIPTORS) as flood:
        eventually(flood.is_accepted)
        metrics = over_http("GET", f"{few.web_url}/metrics").text
        status = over_http("GET", f"{few.web_url}/api/status").json()
    match = re.search(
        r'^walltime_closed_connections_total\{port="web",reason="made_room"\} (\d+)', metrics, re.MULTILINE
    )
    assert match
    assert int(match[1]) - before >= DESCRIPTORS // 2
    assert status["counts"]["closed_web_made_room"] - before >= DESCRIPTORS // 2


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


@pytest.mark.parametrize("port", by_day(["grpc", "web", "clickhouse", "http"], 4))
def test_half_open_handshakes_are_counted_and_closed(secured: tuple[FewDescriptors, ssl.SSLContext], port: str) -> None:
    collector, trusting = secured
    otlp = collector.otlp_url.replace("http:", "https:")
    protobuf = {"content-type": "application/x-protobuf"}

    def get(path: str) -> httpx.Response:
        return httpx.get(collector.web_url.replace("http:", "https:") + path, verify=trusting, timeout=20)

    eventually(
        lambda: succeeds(lambda: get("/readyz").raise_for_status())
    )  # the connections of the test before are closed
    before = get("/healthz").json()["counts"]
    with Flood(collector, port, b"\x16\x03\x01") as flood:
        eventually(flood.is_accepted)
        assert get("/readyz").status_code == 200
        assert httpx.post(otlp, content=ONE_SPAN, headers=protobuf, verify=trusting, timeout=20).status_code == 200
        eventually(lambda: get("/healthz").json()["ok"])
        assert collector.descriptors() < DESCRIPTORS - 40
        eventually(flood.is_closed)
        after = get("/healthz").json()["counts"]
    assert closed(before, after, port, "handshake") >= 1
    assert closed(before, after, port, "made_room", "limit") > DESCRIPTORS
    assert closed(before, after, port, "made_room", "limit", "handshake") >= flood.count
