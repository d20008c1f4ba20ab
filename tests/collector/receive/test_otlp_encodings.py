"""Every compression of an OpenTelemetry Collector is accepted within the same limits, over HTTP and gRPC."""

from __future__ import annotations

import contextlib
import gzip
import os
import zlib
from collections.abc import Callable

import cramjam
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.errors import RequestRefused
from walltime_collector.http.decompress import decompress

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive import http2_frames as frames
from tests.collector.receive.http2_peer import Peer
from tests.collector.receive.taken import Counted
from tests.collector.receive.usage import resident_bytes
from tests.servers import Collector

MIB = 1024 * 1024
LIMIT = 100_000


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(body) + packer.flush()


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "zstd": ("zstd", zstd.compress),
    "snappy framed": ("snappy", lambda body: bytes(cramjam.snappy.compress(body))),
    "snappy block": ("snappy", lambda body: bytes(cramjam.snappy.compress_raw(body))),
    "x-snappy-framed": ("x-snappy-framed", lambda body: bytes(cramjam.snappy.compress(body))),
    "zlib": ("zlib", zlib.compress),
    "deflate": ("deflate", zlib.compress),
    "deflate without a header": ("deflate", raw_deflate),
    "lz4": ("lz4", lambda body: bytes(cramjam.lz4.compress(body))),
}
GRPC = ("gzip", "zstd", "snappy framed", "deflate")
"""Those that gRPC clients have; its Snappy is the framed one."""


def refusal(packed: bytes, encoding: str, most_bytes: int) -> int:
    with pytest.raises(RequestRefused) as refused:
        decompress(packed, encoding.encode(), most_bytes)
    return refused.value.status


@pytest.mark.parametrize("name", PACKERS)
@given(part=st.binary(min_size=1, max_size=300), times=st.integers(1, 3_000))
def test_a_body_is_decompressed_up_to_the_limit(name: str, part: bytes, times: int) -> None:
    body = (part * times)[:LIMIT]
    encoding, pack = PACKERS[name]
    packed = pack(body)
    assert decompress(packed, encoding.encode(), len(body)) == body
    assert refusal(packed, encoding, len(body) - 1) == 413


@pytest.mark.parametrize("name", PACKERS)
@given(cut=st.integers(1, 40), rubbish=st.binary(min_size=1, max_size=40))
def test_truncated_and_wrong_data_is_refused(name: str, cut: int, rubbish: bytes) -> None:
    encoding, pack = PACKERS[name]
    packed = pack(os.urandom(500))
    assert refusal(packed[:-cut], encoding, LIMIT) == 400
    for body in (b"\xff" + rubbish, packed[:20] + rubbish + packed[20:]):
        with contextlib.suppress(RequestRefused):  # any other error would be an answer of 503
            decompress(body, encoding.encode(), LIMIT)


@pytest.mark.parametrize("name", PACKERS)
def test_every_encoding_over_http_is_stored_and_a_bomb_is_refused(receiver: Collector, name: str) -> None:
    encoding, pack = PACKERS[name]
    counted = Counted(receiver)
    small = request(span()).SerializeToString()
    large = request(span({"text": "x" * MIB})).SerializeToString()  # opened in a thread
    for body in (small, large):
        assert receiver.send(pack(body), content_encoding=encoding).status_code == 200
    assert counted.added() == {"received": 2}
    before = resident_bytes(receiver)
    assert receiver.send(pack(bytes(64 * MIB)), content_encoding=encoding).status_code == 413
    assert receiver.send(b"\x00no such format\xff\xff", content_encoding=encoding).status_code == 400
    assert resident_bytes(receiver, peak=True) - before < 96 * MIB


@pytest.mark.parametrize("name", GRPC)
def test_every_encoding_over_grpc_is_stored_and_a_bomb_is_refused(receiver: Collector, name: str) -> None:
    encoding, pack = PACKERS[name]
    counted = Counted(receiver)

    def status(content: bytes) -> str:
        peer = Peer(receiver)
        message = b"\x01" + len(content).to_bytes(4, "big") + content
        peer.send(peer.headers(1, changes={b"grpc-encoding": encoding.encode()}))
        pieces = [message[at : at + 16_384] for at in range(0, len(message), 16_384)]
        peer.send(*(frames.frame(frames.DATA, 0, 1, each) for each in pieces[:-1]))
        peer.send(frames.frame(frames.DATA, frames.END_STREAM, 1, pieces[-1]))
        status = peer.status(1)
        peer.close()
        return status

    assert status(pack(request(span()).SerializeToString())) == "0"
    assert counted.added() == {"received": 1}
    assert status(pack(bytes(64 * MIB))) == "8"
    assert status(b"no such format") == "3"


def test_the_refusal_of_an_unknown_encoding_lists_the_known_ones(receiver: Collector) -> None:
    refused = receiver.send(b"x", content_encoding="br")
    assert refused.status_code == 415
    for name, _ in PACKERS.values():
        assert name in refused.text
