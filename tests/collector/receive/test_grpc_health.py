"""grpc.health.v1 on the gRPC port, with gRPC's own client: it follows readiness and requires no token."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive import http2_frames as frames
from tests.collector.receive.http2_peer import Peer
from tests.servers import Collector, eventually

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
TRACES = "opentelemetry.proto.collector.trace.v1.TraceService"
SERVICES = {"", TRACES, TRACES.replace("trace", "metrics").replace("Trace", "Metrics")}
SERVICES |= {TRACES.replace("trace", "logs").replace("Trace", "Logs")}


def ask(service: str = "") -> health_pb2.HealthCheckRequest:
    return health_pb2.HealthCheckRequest(service=service)


@pytest.fixture
def stub(receiver: Collector) -> Iterator[health_pb2_grpc.HealthStub]:
    with grpc.insecure_channel(receiver.grpc) as channel:
        yield health_pb2_grpc.HealthStub(channel)


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_every_service_of_the_port_is_serving(
    stub: health_pb2_grpc.HealthStub, compression: grpc.Compression | None
) -> None:
    for service in SERVICES:
        assert stub.Check(ask(service), timeout=20, compression=compression).status == SERVING
    listed = stub.List(health_pb2.HealthListRequest(), timeout=20).statuses
    assert {name: each.status for name, each in listed.items()} == dict.fromkeys(SERVICES, SERVING)


def test_an_unknown_service_is_not_found_and_watched_as_unknown(stub: health_pb2_grpc.HealthStub) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        stub.Check(ask("shop"), timeout=20)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    watched = stub.Watch(ask("shop"), timeout=20)
    assert next(watched).status == UNKNOWN
    watched.cancel()


def test_a_watch_sends_every_change_of_readiness(tmp_path: Path) -> None:
    with Collector(tmp_path / "data", max_spool_bytes=20_000, segment_age_s=3.0) as collector:
        with grpc.insecure_channel(collector.grpc) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            first, second = stub.Watch(ask(), timeout=120), stub.Watch(ask(TRACES), timeout=120)
            assert [next(first).status, next(second).status] == [SERVING, SERVING]
            body = request(span({"text": "x" * 4_000})).SerializeToString()
            eventually(lambda: collector.send(body).status_code == 503)
            assert [next(first).status, next(second).status] == [NOT_SERVING, NOT_SERVING]
            eventually(lambda: stub.Check(ask(), timeout=20).status == NOT_SERVING or collector.health()["ready"])
            assert next(first).status == SERVING  # when it is loaded
            collector.process.send_signal(signal.SIGTERM)
            with pytest.raises(grpc.RpcError):
                list(first)
        assert collector.process.wait(20) == 0


def test_export_requires_a_token_and_health_does_not(tmp_path: Path) -> None:
    collector = Collector(tmp_path / "data", ingest_token="a-token-for-the-senders")
    with collector, grpc.insecure_channel(collector.grpc) as channel:
        assert health_pb2_grpc.HealthStub(channel).Check(ask(), timeout=20).status == SERVING
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary(f"/{TRACES}/Export")(b"", timeout=20)
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_ended_watches_do_not_count_as_calls(receiver: Collector, stub: health_pb2_grpc.HealthStub) -> None:
    for _ in range(300):  # more than a connection may have at once
        watched = stub.Watch(ask(), timeout=20)
        assert next(watched).status == SERVING
        watched.cancel()
    assert stub.Check(ask(), timeout=20).status == SERVING


def test_a_wrong_health_request_is_refused(receiver: Collector) -> None:
    for body, encoding, status in ((b"\x0a\xff", b"identity", "3"), (b"x", b"br", "12"), (b"x" * 9_000, b"gzip", "3")):
        peer = Peer(receiver)
        message = bytes([encoding == b"gzip"]) + len(body).to_bytes(4, "big") + body
        changes = {b":path": b"/grpc.health.v1.Health/Check", b"grpc-encoding": encoding}
        peer.send(peer.headers(1, changes=changes), frames.frame(frames.DATA, frames.END_STREAM, 1, message))
        assert peer.status(1) == status
        peer.close()
