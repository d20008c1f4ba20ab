"""Endless requests on each HTTP port: headers, URLs, chunks, trailers, pipelines; and unread responses."""

from __future__ import annotations

import contextlib
import re
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.by_day import by_day
from tests.collector.http.few_descriptors import ONE_SPAN, FewDescriptors, sends
from tests.collector.receive.usage import cpu_s
from tests.servers import PROTOBUF, eventually, over_http

MIB = 1024 * 1024
PORTS = ["http", "web", "clickhouse"]
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FewDescriptors]:
    running = FewDescriptors(
        tmp_path_factory.mktemp("hostile") / "data",
        header_deadline_s=2.0,
        request_deadline_s=2.0,
        max_in_flight_bytes=4 * MIB,
    )
    with running:
        yield running


def answer_to(address: tuple[str, int], *parts: bytes, receive: bool = True) -> bytes:
    """What comes back for these bytes until the other side closes."""
    with socket.create_connection(address, 30) as connection:
        with contextlib.suppress(ConnectionError):
            for part in parts:
                connection.sendall(part)
        received = b""
        with contextlib.suppress(ConnectionError):
            while receive and (piece := connection.recv(65536)):
                received += piece
        return received


@pytest.mark.parametrize("port", PORTS)
def test_endless_headers_and_urls_are_refused_by_their_size(collector: FewDescriptors, port: str) -> None:
    address = collector.addresses[port]
    filler = b"X-Filler: " + b"x" * 1_000 + b"\r\n"
    small = b"".join(b"X-%d: y\r\n" % number for number in range(101))
    assert answer_to(address, GET + filler * 40 + b"\r\n").startswith(b"HTTP/1.1 431 ")
    assert answer_to(address, GET + small + b"\r\n").startswith(b"HTTP/1.1 431 ")
    assert answer_to(address, GET + b"X: ", *[b"y" * 100] * 400).startswith(b"HTTP/1.1 431 ")
    assert answer_to(address, b"GET /", *[b"y" * 100] * 400).startswith(b"HTTP/1.1 414 ")
    assert answer_to(address, b"GET /?query=" + b"y" * 17_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n").startswith(
        b"HTTP/1.1 414 "
    )
    enough = GET + filler * 20 + b"Connection: close\r\n\r\n"
    assert answer_to(address, enough).startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 404 ", b"HTTP/1.1 401 "))


CHUNKED = (
    b"POST /api/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize(
    "begin",
    [GET + b"X-Filler: ", b"GET /", CHUNKED + b"1;", CHUNKED + b"1;a=", CHUNKED + b"0\r\nX-Trailer: ", b"\r\n" * 1000],
    ids=["header", "url", "chunk extension", "value of one", "trailer", "empty lines"],
)
def test_endless_input_closes_the_connection_at_little_cost(collector: FewDescriptors, port: str, begin: bytes) -> None:
    before_s = cpu_s(collector)
    more = b"\r\n" * (MIB // 2) if begin.startswith(b"\r\n") else b"x" * MIB
    answer = answer_to(collector.addresses[port], begin, *[more] * 60)
    assert not answer.startswith(b"HTTP/1.1 2")
    assert cpu_s(collector) - before_s < 1.5
    assert collector.health()["ok"]
    assert "Traceback" not in collector.log()


@pytest.mark.parametrize("port", PORTS)
def test_pipelined_requests_are_answered_in_order_and_too_many_close_the_connection(
    collector: FewDescriptors, port: str
) -> None:
    address = collector.addresses[port]
    one = b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    answered = answer_to(address, one * 20 + last)
    assert answered.count(b"HTTP/1.1 404 ") == 21
    assert answer_to(address, one * 20_000).count(b"HTTP/1.1 404 ") < 100
    assert over_http("GET", f"{collector.web_url}/metrics").text.count('reason="pipelined"')


@pytest.mark.parametrize("port", by_day(PORTS, 3))
def test_a_request_that_trickles_after_its_response_is_closed(collector: FewDescriptors, port: str) -> None:
    begun = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    with socket.create_connection(collector.addresses[port], 30) as connection:
        connection.sendall(begun)
        connection.settimeout(0.5)
        deadline_s = time.monotonic() + 30
        is_open = True
        while is_open and time.monotonic() < deadline_s:
            try:
                connection.sendall(b"x")
                is_open = bool(connection.recv(65536))
            except TimeoutError:
                continue
            except ConnectionError:
                is_open = False
        assert not is_open


def test_unread_responses_are_dropped_when_they_take_too_much_memory(collector: FewDescriptors) -> None:
    address = collector.addresses["clickhouse"]
    sql = b"SELECT repeat('x', 1000000) FROM numbers(12)"
    ask = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(sql) + sql
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(4):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(address)
            connection.sendall(ask)
            made.append(connection)
        eventually(lambda: collector.health()["counts"].get("closed_clickhouse_unread_answers", 0) >= 3, 30)
    eventually(lambda: "unread responses took too much memory" in collector.log(), 20)


def test_without_a_free_descriptor_no_acknowledged_data_is_lost_and_the_log_has_the_reason(tmp_path: Path) -> None:
    collector = FewDescriptors(tmp_path / "data", derived_window_s=1)
    with collector:
        sends(collector)
        collector.wait_until_loaded(2)
        soft, hard = resource.prlimit(collector.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(collector.process.pid, resource.RLIMIT_NOFILE, (collector.descriptors() - 2, hard))
        acknowledged = 2
        until_s = time.monotonic() + 3
        while time.monotonic() < until_s:
            with contextlib.suppress(Exception):  # refused: the sender would come again
                response = over_http("POST", collector.otlp_url, content=ONE_SPAN, headers=PROTOBUF, timeout_s=1)
                acknowledged += response.status_code == 200
            time.sleep(0.1)
        resource.prlimit(collector.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
        eventually(lambda: collector.send(ONE_SPAN).status_code == 200, 30)
        spans = collector.health()["spans"]
        assert spans["received"] >= acknowledged + 1
        collector.wait_until_loaded(spans["received"])
        assert not re.search("nobody thought of|unexpected error", collector.log())
        assert "Traceback" not in collector.log()
