"""Overload: clients get a retryable status with a delay; connections beyond the limits are closed."""

from __future__ import annotations

import asyncio
import gzip
import signal
import socket
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from walltime_collector.health.counters import Health
from walltime_collector.http.authentication import Credential
from walltime_collector.http.body import InFlight
from walltime_collector.http.ports import connections as ports
from walltime_collector.http.ports.connections import Connections
from walltime_collector.http.ports.port import Port
from walltime_collector.receive.grpc.calls import Limits
from walltime_collector.receive.grpc.connection import Connection
from walltime_collector.receive.intake import Intake
from walltime_collector.receive.otlp_grpc import OtlpGrpc
from walltime_collector.spool.group_commit import GroupCommit
from walltime_collector.spool.spool import Spool

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive import http2_frames as frames
from tests.collector.receive.http2_peer import PATH, Peer
from tests.collector.receive.usage import rpc_status
from tests.servers import Collector, eventually

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector with room for little, on disk and in memory; what it has spooled stays there for an hour."""
    folder = tmp_path_factory.mktemp("small") / "data"
    limits = {"max_spool_bytes": 20_000, "segment_age_s": 3600.0, "max_in_flight_bytes": MIB}
    with Collector(folder, **limits) as running:
        yield running


def call(collector: Collector, body: bytes, compression: grpc.Compression | None = None) -> grpc.StatusCode:
    """The status of a call; a retryable one must contain the delay."""
    with grpc.insecure_channel(collector.grpc, compression=compression) as channel:
        try:
            channel.unary_unary(PATH)(body, timeout=20)
        except grpc.RpcError as refused:
            if refused.code() is grpc.StatusCode.UNAVAILABLE:
                details = dict(refused.trailing_metadata())["grpc-status-details-bin"]
                again = RetryInfo()
                assert Status.FromString(details).details[0].Unpack(again)
                assert again.retry_delay.seconds > 0
            code: grpc.StatusCode = refused.code()
            return code
        return grpc.StatusCode.OK


def test_bodies_over_the_common_limit_get_a_retryable_status(small: Collector) -> None:
    body = request(span({"text": "x" * 2 * MIB})).SerializeToString()
    for packed, encoding in ((body, ""), (gzip.compress(body), "gzip")):
        response = small.send(packed, content_encoding=encoding)
        assert (response.status_code, rpc_status(response)[0]) == (503, 14)
        assert int(response.headers["retry-after"]) > 0
    for compression in (None, grpc.Compression.Gzip):
        assert call(small, body, compression) is grpc.StatusCode.UNAVAILABLE
    assert small.health()["counts"]["refused_overload"] == 4
    assert small.send(request(span()).SerializeToString()).status_code == 200


def test_a_full_spool_gets_a_retryable_status_and_running_calls_are_answered_on_sigterm(small: Collector) -> None:
    body = request(span({"text": "x" * 4_000})).SerializeToString()
    before = small.health()["spans"]["received"]
    answers = [small.send(body) for _ in range(12)]  # the first may be loaded at once, the others wait an hour
    refused = answers[-1]
    assert {each.status_code for each in answers} == {200, 503}
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) > 0
    assert rpc_status(refused)[0] == 14
    assert str(small.directory.parent) not in rpc_status(refused)[1]
    assert call(small, body) is grpc.StatusCode.UNAVAILABLE
    acknowledged = sum(each.status_code == 200 for each in answers)
    assert small.health()["spans"]["received"] == before + acknowledged

    peer = Peer(small)
    whole = peer.call(1, body)
    peer.send(whole[:-100])
    assert next(peer.frames())[0] == frames.SETTINGS
    small.process.send_signal(signal.SIGTERM)
    seen = peer.frames()
    assert frames.GOAWAY in (frame_type for frame_type, _, _, _ in seen)
    peer.send(whole[-100:])
    assert peer.status(1) == "14"
    peer.close()
    assert small.process.wait(20) == 0
    with Collector(small.directory) as again:
        assert again.health()["spans"]["spooled"] == 0
        assert again.send(body).status_code == 200


def test_connections_of_one_address_beyond_its_limit_are_closed(tmp_path: Path) -> None:
    health = Health()
    spool = Spool(tmp_path / "spool", max_bytes=MIB, segment_bytes=MIB, segment_age_s=1.0)
    commit = GroupCommit(spool, partial(health.add, "received"))
    intake = Intake(commit, health, InFlight(MIB), Credential(), max_request_bytes=MIB)
    connections = Connections(health, ports.Limits(100, 3, MIB, "max_connections"))
    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()
    make = partial(Connection, OtlpGrpc(intake, health), Limits(10, 30))
    port = Port("grpc", listening, connections, make, tls=None, handshake_s=10, grace_s=1)
    stopping = threading.Event()

    async def serve() -> None:
        port.start()
        await asyncio.to_thread(stopping.wait)
        await port.stop()

    running = threading.Thread(target=lambda: asyncio.run(serve()))
    running.start()
    sources = ["127.0.0.1"] * 5 + ["127.0.0.2"] * 2
    made = [socket.create_connection(address, 20, (source, 0)) for source in sources]
    assert [bool(each.recv(9)) for each in made] == [True] * 3 + [False] * 2 + [True] * 2
    made[0].close()
    eventually(lambda: is_let_in(address))
    for each in made:
        each.close()
    stopping.set()
    running.join(20)
    assert health.report()["counts"]["refused_connections"] >= 2
    intake.close()
    commit.close()
    spool.close()


def is_let_in(address: tuple[str, int]) -> bool:
    with socket.create_connection(address, 20) as connection:
        return bool(connection.recv(9))
