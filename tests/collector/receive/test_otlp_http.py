"""The receiver over real sockets: the status codes of OTLP, and nothing is stored without an acknowledgement."""

from __future__ import annotations

import gzip
import http.client
import select
import socket
import zlib
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from backports import zstd
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive.usage import cpu_s, resident_bytes, rpc_status
from tests.servers import PROTOBUF, Collector, eventually

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def collector(receiver: Collector) -> Collector:
    return receiver


@pytest.fixture(autouse=True)
def _alive_and_nothing_stored_by_accident(collector: Collector) -> Iterator[None]:
    before = collector.health()["spans"]["received"]
    yield
    assert collector.health()["spans"]["received"] == before
    assert collector.send(request(span(), span()).SerializeToString()).status_code == 200
    assert collector.health()["spans"]["received"] == before + 2


def raw(collector: Collector, head: str, *parts: bytes, pause_s: float = 0, hang_up: bool = False) -> bytes:
    """The beginning of the response to these bytes on a socket; with `hang_up` the client does not wait for it."""
    where = urlsplit(collector.otlp_url)
    with socket.create_connection((where.hostname or "", where.port or 0), 10) as connection:
        try:
            connection.sendall(head.replace("\n", "\r\n").encode("latin-1") + b"\r\n")
            for part in parts:
                if select.select([connection], [], [], pause_s)[0]:
                    break
                connection.sendall(part)
            return b"" if hang_up else connection.recv(65536)
        except ConnectionError:
            return b"closed"


POST = "POST /v1/traces HTTP/1.1\nHost: localhost\nContent-Type: application/x-protobuf\n"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        ExportTraceServiceRequest(resource_spans=[ResourceSpans(scope_spans=[ScopeSpans()])]).SerializeToString(),
    ],
)
def test_an_empty_request_is_accepted(collector: Collector, body: bytes) -> None:
    content_type = "application/json" if body == b"{}" else "application/x-protobuf"
    for encoding, sent in (("", body), ("gzip", gzip.compress(body)), ("zstd", zstd.compress(body))):
        response = collector.send(sent, content_encoding=encoding, content_type=content_type)
        assert (response.status_code, response.headers["content-type"]) == (200, content_type)
        assert response.content == (b"{}" if body == b"{}" else b"")


def test_a_body_that_is_not_a_request_is_refused(collector: Collector) -> None:
    good = request(span()).SerializeToString()
    for body in (good[:-1], good[: len(good) // 2], b"\xff" * 50, b"{}", b"\x0a\xff\xff\xff\xff\x0f"):
        response = collector.send(body)
        assert (response.status_code, rpc_status(response)[0]) == (400, 3)
    for body in (b"{", b"[]", b"\xff", b'{"resourceSpans": 5}', b"[" * 100_000, good):
        response = collector.send(body, content_type="application/json")
        assert (response.status_code, rpc_status(response)[0]) == (400, 3)


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/xml", "application/x-www-form-urlencoded"])
def test_another_content_type_is_refused(collector: Collector, content_type: str) -> None:
    response = collector.send(request(span()).SerializeToString(), content_type=content_type)
    assert (response.status_code, rpc_status(response)[0]) == (415, 3)


def test_the_content_type_may_have_parameters(collector: Collector) -> None:
    assert collector.send(b"", content_type="Application/X-Protobuf; charset=utf-8").status_code == 200
    assert collector.send(b"{}", content_type="application/json;charset=UTF-8").status_code == 200


def test_a_page_in_a_browser_cannot_send(collector: Collector) -> None:
    body = request(span()).SerializeToString()
    for origin in ("http://evil.example", "null", collector.otlp_url.removesuffix("/v1/traces")):
        response = collector.send(body, origin=origin)
        assert (response.status_code, rpc_status(response)[0]) == (403, 7)


@pytest.mark.parametrize("encoding", ["br", "zstandard", "bzip2", "gzip, gzip"])
def test_another_encoding_is_refused(collector: Collector, encoding: str) -> None:
    assert collector.send(b"", content_encoding=encoding).status_code == 415


def test_a_body_that_does_not_match_its_encoding_or_is_truncated_is_refused(collector: Collector) -> None:
    packed = gzip.compress(request(span()).SerializeToString())
    for body in (b"not gzip", packed[:-9], packed[: len(packed) // 2], packed + b"rubbish", gzip.compress(packed)):
        assert collector.send(body, content_encoding="gzip").status_code == 400
    packed = zstd.compress(request(span()).SerializeToString())
    for body in (b"not zstd", packed[:-2], packed + b"rubbish", gzip.compress(b"x")):
        assert collector.send(body, content_encoding="zstd").status_code == 400


def test_21_mib_are_refused(collector: Collector) -> None:
    for body in (bytes(21 * MIB), bytes(70 * MIB)):
        with httpx.Client() as client:
            response = client.post(collector.otlp_url, content=body, headers=PROTOBUF, timeout=30)
        assert (response.status_code, rpc_status(response)[0]) == (413, 8)


def test_a_body_without_a_length_is_refused_at_the_limit(collector: Collector) -> None:
    response = httpx.post(collector.otlp_url, content=(bytes(MIB) for _ in range(21)), headers=PROTOBUF, timeout=30)
    assert response.status_code == 413


def test_a_hundred_thousand_tiny_chunks_are_one_body(collector: Collector) -> None:
    tiny = [b"1\r\n\n\r\n"] * 100_000  # 100,000 times the tag of resource_spans: no request, but read to its end
    answer = raw(collector, POST + "Transfer-Encoding: chunked\n", b"".join(tiny) + b"0\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 408 "))


def test_a_bomb_is_refused_without_being_inflated(collector: Collector) -> None:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(bytes(MIB)) for _ in range(64)) + packer.flush()
    assert len(packed) < MIB
    before, cpu_before_s = resident_bytes(collector), cpu_s(collector)
    for encoding, bomb in (("gzip", packed), ("zstd", zstd.compress(bytes(64 * MIB)))):
        response = collector.send(bomb, content_encoding=encoding)
        assert (response.status_code, rpc_status(response)[0]) == (413, 8)
    assert resident_bytes(collector, peak=True) - before < 96 * MIB
    assert cpu_s(collector) - cpu_before_s < 1.0


def test_many_small_gzip_files_in_a_row_are_one_body_with_one_limit(collector: Collector) -> None:
    part = gzip.compress(bytes(MIB))
    assert collector.send(part * 21, content_encoding="gzip").status_code == 413


def test_a_million_empty_messages_are_refused(collector: Collector) -> None:
    assert collector.send(b"\x0a\x00" * 1_000_000).status_code == 413
    assert collector.send(b"\x0a\x02\x12\x00" * 60_000).status_code == 413
    assert collector.send(request(*[span(name="")] * 50_001).SerializeToString()).status_code == 413


@pytest.mark.parametrize(
    "path", ["/", "/v1/profiles", "/v1/traces/", "//v1/traces", "/v1/../v1/traces", "/v1/%74races", "/v1\\traces"]
)
def test_another_path_is_not_found(collector: Collector, path: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(collector.otlp_url).netloc, timeout=60)
    connection.request("POST", path, b"", PROTOBUF)
    assert connection.getresponse().status == 404
    connection.close()


def test_endless_and_strange_urls_are_refused(collector: Collector) -> None:
    head = "Content-Type: application/x-protobuf\nContent-Length: 0\n"
    assert raw(collector, f"POST http://evil.example/v1/logs/ HTTP/1.1\nHost: x\n{head}").startswith(b"HTTP/1.1 404 ")
    for target in ("/v1/traces\x00", "*", "v1/traces", "/v1/tr\xe4ces"):
        assert raw(collector, f"POST {target} HTTP/1.1\nHost: x\n{head}")[:13] in (
            b"HTTP/1.1 400 ",
            b"HTTP/1.1 404 ",
        )
    assert raw(collector, f"POST /{'v' * 70_000} HTTP/1.1\nHost: x\n{head}")[:13] == b"HTTP/1.1 414 "


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_another_method_is_refused(collector: Collector, method: str) -> None:
    response = httpx.request(method, collector.otlp_url, headers=PROTOBUF)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


def test_a_client_that_disconnects_within_its_body_leaves_nothing(collector: Collector) -> None:
    body = request(span()).SerializeToString()
    raw(collector, POST + f"Content-Length: {len(body)}\n", body[:-5], hang_up=True)
    eventually(lambda: collector.health()["counts"].get("refused_disconnected", 0) >= 1)


def test_a_slow_body_is_refused_at_the_deadline(collector: Collector) -> None:
    answer = raw(collector, POST + "Content-Length: 1000\n", *[b"x"] * 100, pause_s=0.1)
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_slow_and_endless_headers_end_the_connection(collector: Collector) -> None:
    assert raw(collector, POST.rstrip("\n"), *[b"x"] * 100, pause_s=0.1) in (b"", b"closed")
    without_end = POST + f"X-Filler: {'x' * 1_000}\n" * 100
    assert raw(collector, without_end.rstrip("\n"), *[b"x"] * 10)[:13] == b"HTTP/1.1 431 "


@pytest.mark.parametrize("head", ["GARBAGE\n", POST + "Content-Length: -1\n", POST + "Content-Length: x\n"])
def test_what_is_not_http_is_refused(collector: Collector, head: str) -> None:
    before = collector.health()["counts"].get("refused_not_http", 0)
    answer = raw(collector, head)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert Status.FromString(answer.partition(b"\r\n\r\n")[2]).code == 3
    assert collector.health()["counts"]["refused_not_http"] == before + 1
    assert "Invalid HTTP" not in collector.log()


def test_a_length_and_chunks_at_once_store_nothing(collector: Collector) -> None:
    body = request(span()).SerializeToString()
    chunked = b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
    raw(collector, POST + f"Content-Length: {len(chunked)}\nTransfer-Encoding: chunked\n", chunked)
