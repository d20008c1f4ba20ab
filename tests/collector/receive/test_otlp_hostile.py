"""Long tests, nightly: a million broken bodies, hundreds of slow connections, millions of values."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import random
import socket
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import grpc
import hpack
import pytest
from backports import zstd
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from walltime_collector.errors import RequestRefused
from walltime_collector.http.decompress import decompress
from walltime_collector.receive.check import check_traces, count_items
from walltime_collector.receive.otlp_json import count_items_of_json, traces_from_json

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive import http2_frames as frames
from tests.collector.receive.http2_peer import HEADERS, PATH, Peer
from tests.collector.receive.taken import as_json
from tests.collector.receive.usage import cpu_s, resident_bytes
from tests.servers import PROTOBUF, Collector
from tests.slowness import stretched

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

MIB = 1024 * 1024
CASES = 1_000_000


def mutations(corpus: list[bytes], seed: int) -> Iterator[bytes]:
    """Bodies of the corpus with a few bytes flipped, cut out, doubled, or cut off."""
    chance = random.Random(seed)
    while True:
        body = bytearray(chance.choice(corpus))
        for _ in range(chance.choice((1, 1, 2, 4, 16))):
            at = chance.randrange(len(body) + 1)
            change = chance.randrange(5)
            if change == 0 and at < len(body):
                body[at] = chance.randrange(256)
            elif change == 1:
                del body[at : at + chance.randrange(1, 9)]
            elif change == 2:
                body[at:at] = chance.randbytes(chance.randrange(1, 5))
            elif change == 3:
                body[at:at] = body[at : at + chance.randrange(1, 33)]
            elif chance.random() < 0.2:
                del body[at:]
        yield bytes(body)


def test_a_million_broken_bodies_are_counted_or_refused() -> None:
    sent = [request(span({"s": "x", "i": 1, "l": [1, "y"], "m": {"k": b"v"}}), span()), request(*[span()] * 3)]
    binary, text = [each.SerializeToString() for each in sent], [as_json(each) for each in sent]
    ways: list[tuple[list[bytes], Callable[[bytes], object]]] = [
        (binary, check_traces),
        (binary, count_items),
        (text, lambda body: check_traces(traces_from_json(body))),
        (text, count_items_of_json),
        ([gzip.compress(each) for each in binary], lambda body: decompress(body, b"gzip", MIB)),
        ([zstd.compress(each) for each in binary], lambda body: decompress(body, b"zstd", MIB)),
    ]
    outcomes: Counter[int] = Counter()
    for number, (corpus, take) in enumerate(ways):
        bodies = mutations(corpus, seed=number)
        for _ in range(CASES // len(ways) + 1):
            try:
                take(next(bodies))
                outcomes[200] += 1
            except RequestRefused as refused:
                outcomes[refused.status] += 1
    assert set(outcomes) <= {200, 400, 413}
    assert outcomes.total() >= CASES
    sys.stdout.write(f"\nfuzz: {dict(outcomes)} of {outcomes.total()} bodies\n")


def test_broken_bodies_over_both_ports_never_cause_an_internal_error(receiver: Collector) -> None:
    cases = 10_000
    corpus = [request(span({"s": "x", "l": [1, "y"]}), span()).SerializeToString()]
    outcomes: Counter[object] = Counter()
    connection = http.client.HTTPConnection(urlsplit(receiver.otlp_url).netloc, timeout=20)
    with grpc.insecure_channel(receiver.grpc) as channel:
        export = channel.unary_unary(PATH)
        for _, body in zip(range(cases), mutations(corpus, seed=7), strict=False):
            connection.request("POST", "/v1/traces", body, PROTOBUF)
            answer = connection.getresponse()
            answer.read()
            outcomes[answer.status] += 1
            try:
                export(body, timeout=20)
                outcomes["OK"] += 1
            except grpc.RpcError as refused:
                outcomes[refused.code().name] += 1
    connection.close()
    assert set(outcomes) <= {200, 400, "OK", "INVALID_ARGUMENT"}
    assert "internal" not in str(receiver.health()["counts"])
    sys.stdout.write(f"\nfuzz over both ports: {dict(outcomes)}\n")


def test_random_frames_do_not_affect_other_clients(receiver: Collector) -> None:
    chance = random.Random(5)
    good = request(span()).SerializeToString()
    with grpc.insecure_channel(receiver.grpc) as channel:
        export = channel.unary_unary(PATH)
        for number in range(1_500):
            peer = Peer(receiver)
            whole = peer.call(1, good) + peer.call(3, good)
            for body, _ in zip(mutations([whole], seed=number), range(3), strict=False):
                peer.send(body)
            peer.send(chance.randbytes(chance.randrange(200)))
            peer.close()
            if number % 100 == 0:
                assert export(good, timeout=20) == b""
        assert export(good, timeout=20) == b""
    assert "internal" not in str(receiver.health()["counts"])
    assert "Traceback" not in receiver.log()


def beginnings(protocol: str) -> tuple[bytes, bytes]:
    """How a connection begins that ends in mid headers, and one that ends in mid body."""
    if protocol == "http":
        head = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
        return head, head + b"Content-Length: 1000\r\n\r\n"
    greeting = frames.PREFACE + frames.settings({})
    opened = frames.frame(frames.HEADERS, frames.END_HEADERS, 1, hpack.Encoder().encode(HEADERS))
    cut = slice(0, frames.HEAD_BYTES)
    return (
        greeting + frames.frame(frames.HEADERS, 0, 1, bytes(10_000))[cut],
        greeting + opened + frames.frame(frames.DATA, 0, 1, bytes(16_000))[cut],
    )


def trickle(receiver: Collector, protocol: str) -> list[socket.socket]:
    """500 connections that have begun a request."""
    where = receiver.grpc if protocol == "grpc" else urlsplit(receiver.otlp_url).netloc
    host, port = where.rsplit(":", 1)
    made = []
    for number in range(500):
        connection = socket.create_connection((host, int(port)), 20)
        connection.setblocking(False)
        connection.send(beginnings(protocol)[number % 2])
        made.append(connection)
    return made


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_five_hundred_slow_connections_do_not_delay_other_clients(tmp_path: Path, protocol: str) -> None:
    body = request(*[span()] * 50).SerializeToString()
    with Collector(tmp_path / "data", header_deadline_s=10.0, request_deadline_s=30.0) as collector:
        connection = http.client.HTTPConnection(urlsplit(collector.otlp_url).netloc, timeout=20)

        def p99_s(during_s: float, sockets: list[socket.socket]) -> float:
            took, end_s = [], time.monotonic() + during_s
            while time.monotonic() < end_s:
                began_s = time.perf_counter()
                connection.request("POST", "/v1/traces", body, PROTOBUF)
                assert connection.getresponse().read() == b""
                took.append(time.perf_counter() - began_s)
                for each in sockets[:: max(1, len(sockets) // 50)]:
                    with contextlib.suppress(OSError):
                        each.send(b"x")
            return statistics.quantiles(took, n=100)[98]

        quiet_s = p99_s(10, [])
        sockets = trickle(collector, protocol)
        attacked_s = p99_s(10, sockets)
        time.sleep(stretched(33) - 10)
        alive = 0
        for each in sockets:
            with contextlib.suppress(BlockingIOError):
                try:
                    while each.recv(65536):
                        pass
                except ConnectionError:
                    continue
                continue
            alive += 1
        for each in sockets:
            each.close()
        connection.close()  # idle for long; the next request opens it again
        # measured on both sides of the attack: other work on the machine may begin or end meanwhile
        quiet_s = max(quiet_s, p99_s(10, []))
        connection.close()
        assert alive == 0
        assert attacked_s < 2 * quiet_s + stretched(0.02)
        sys.stdout.write(
            f"\n500 trickling {protocol} sockets: p99 of a good sender {quiet_s * 1e3:.1f} ms without,"
            f" {attacked_s * 1e3:.1f} ms during; later {alive} are left\n"
        )


def test_connections_beyond_the_limits_are_closed(tmp_path: Path) -> None:
    with Collector(tmp_path / "data", max_connections=40) as collector:
        where = urlsplit(collector.otlp_url)
        address = (where.hostname or "", where.port or 0)
        made = [socket.create_connection(address, 20) for _ in range(5_000 // 10)]
        refused = 0
        for each in made:
            each.settimeout(0.5 if refused >= len(made) - 40 else 5)
            with contextlib.suppress(TimeoutError):
                try:
                    refused += each.recv(100).startswith(b"HTTP/1.1 503") or True
                except ConnectionError:
                    refused += 1
        for each in made:
            each.close()
        assert refused >= len(made) - 40
        assert collector.send(request(span()).SerializeToString()).status_code == 200
        assert collector.health()["counts"]["refused_connections"] >= len(made) - 40


def test_a_million_attributes_of_a_span_cost_two_seconds_at_most(receiver: Collector) -> None:
    attributes = {f"k{number}": 1 for number in range(1_000_000)}
    body = request(span(attributes)).SerializeToString()
    assert len(body) < 20 * MIB
    before, cpu_before_s = resident_bytes(receiver), cpu_s(receiver)
    assert receiver.send(body).status_code == 200
    front_s = cpu_s(receiver) - cpu_before_s
    more = resident_bytes(receiver, peak=True) - before
    sys.stdout.write(
        f"\na span of 1,000,000 attributes: {front_s:.2f} s of CPU, {more / MIB:.0f} MiB more at the peak\n"
    )
    assert front_s < 2
    assert receiver.send(ExportTraceServiceRequest().SerializeToString()).status_code == 200
