"""Requests that two servers could read in two ways, Host headers, methods, and many requests in one write."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

import pytest

from tests.collector.clickhouse.spans import request, span
from tests.collector.http.few_descriptors import FewDescriptors

BODY = request(span()).SerializeToString()
HOST, LENGTH = b"Host: localhost\r\n", b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n"
PORTS = ["http", "web", "clickhouse"]


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FewDescriptors]:
    running = FewDescriptors(tmp_path_factory.mktemp("framing") / "data")
    with running:
        yield running
        assert "Traceback" not in running.log()


def post(headers: bytes, body: bytes = BODY, *, version: bytes = b"1.1") -> bytes:
    return (
        b"POST /v1/traces HTTP/" + version + b"\r\nContent-Type: application/x-protobuf\r\n" + headers + b"\r\n" + body
    )


def statuses(collector: FewDescriptors, port: str, sent: bytes, count: int = 1) -> list[int]:
    """Of the responses to these bytes, of so many or of all until the connection is closed."""
    with socket.create_connection(collector.addresses[port], 30) as connection:
        connection.sendall(sent)
        received = b""
        while len(found := re.findall(rb"HTTP/1\.1 (\d+) ", received)) < count and (piece := connection.recv(65536)):
            received += piece
        return [int(each) for each in found]


def received(collector: FewDescriptors) -> int:
    count: int = collector.health()["spans"]["received"]
    return count


REFUSED = {
    "gzip before chunked": (post(HOST + b"Transfer-Encoding: gzip, chunked\r\n", CHUNKED), 501),
    "another coding": (post(HOST + b"Transfer-Encoding: xchunked\r\n", CHUNKED), 501),
    "chunked in HTTP/1.0": (post(HOST + b"Transfer-Encoding: chunked\r\n", CHUNKED, version=b"1.0"), 400),
    "chunked twice": (post(HOST + b"Transfer-Encoding: chunked\r\n" * 2, CHUNKED), 400),
    "chunked and a length": (post(HOST + LENGTH + b"Transfer-Encoding: chunked\r\n", CHUNKED), 400),
    "two lengths": (post(HOST + LENGTH + b"Content-Length: 1\r\n"), 400),
    "a list of lengths": (post(HOST + b"Content-Length: 1, 1\r\n"), 400),
    "a negative length": (post(HOST + b"Content-Length: -1\r\n"), 400),
    "a length with a sign": (post(HOST + b"Content-Length: +1\r\n"), 400),
    "a length over 64 bits": (post(HOST + b"Content-Length: 99999999999999999999\r\n"), 400),
    "a line that goes on": (post(HOST + LENGTH + b"X-A: b\r\n c\r\n"), 400),
    "a space before a colon": (post(HOST + b"Content-Length : 1\r\n"), 400),
    "lines without CR": (post(HOST + LENGTH).replace(b"\r\n", b"\n", 3), 400),
    "a chunk with a sign": (post(HOST + b"Transfer-Encoding: chunked\r\n", b"-1\r\n"), 400),
    "a chunk over 64 bits": (post(HOST + b"Transfer-Encoding: chunked\r\n", b"f" * 17 + b"\r\n"), 400),
    "a length in the trailer": (post(HOST + b"Transfer-Encoding: chunked\r\n", CHUNKED[:-2] + LENGTH + b"\r\n"), 400),
    "no Host": (post(LENGTH), 400),
    "two Hosts": (post(HOST + HOST + LENGTH), 400),
    "two other Hosts": (post(HOST + b"Host: example.com\r\n" + LENGTH), 400),
    "HTTP/2.0": (post(HOST + LENGTH, version=b"2.0"), 505),
    "another expectation": (post(HOST + LENGTH + b"Expect: 200-ok\r\n"), 417),
    "100-continue before 1 GB": (post(HOST + b"Content-Length: 1000000000\r\nExpect: 100-continue\r\n", b""), 413),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_ambiguous_request_is_refused_and_the_connection_closed(collector: FewDescriptors, name: str) -> None:
    sent, status = REFUSED[name]
    before = received(collector)
    assert statuses(collector, "http", sent, count=9) == [status]
    assert received(collector) == before


@pytest.mark.parametrize("port", PORTS)
def test_every_port_wants_one_host(collector: FewDescriptors, port: str) -> None:
    for hosts in (b"", HOST * 2):
        assert statuses(collector, port, b"GET /ping HTTP/1.1\r\n" + hosts + b"\r\n", count=9) == [400]


@pytest.mark.parametrize(
    "headers",
    [LENGTH, b"Transfer-Encoding:  Chunked \r\n", LENGTH + b"Expect: 100-continue\r\n"],
    ids=["length", "chunked", "continue"],
)
def test_usual_framing_is_accepted(collector: FewDescriptors, headers: bytes) -> None:
    before = received(collector)
    body = CHUNKED if b"Chunked" in headers else BODY
    found = statuses(collector, "http", post(HOST + headers, body), 2 if b"Expect" in headers else 1)
    assert found == ([100, 200] if b"Expect" in headers else [200])
    assert statuses(collector, "http", post(LENGTH, version=b"1.0")) == [200]
    assert received(collector) == before + 2


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket"])
def test_a_body_that_comes_with_the_offer_of_another_protocol_is_stored(
    collector: FewDescriptors, protocol: bytes
) -> None:
    """Java's HTTP client offers HTTP/2 with its first request; the body was lost and the response was 200."""
    before = received(collector)
    offer = (
        HOST + LENGTH + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: " + protocol + b"\r\nHTTP2-Settings: AA\r\n"
    )
    assert statuses(collector, "http", post(offer) + post(HOST + LENGTH) + post(offer), 3) == [200] * 3
    chunked = HOST + b"Transfer-Encoding: chunked\r\nConnection: upgrade\r\nUpgrade: " + protocol + b"\r\n"
    assert statuses(collector, "http", post(chunked, CHUNKED)) == [200]
    assert received(collector) == before + 4


def test_40_requests_in_one_write_are_stored_and_answered(collector: FewDescriptors) -> None:
    before = received(collector)
    assert statuses(collector, "http", post(HOST + LENGTH) * 40, 40) == [200] * 40
    assert received(collector) == before + 40


def test_as_many_requests_are_stored_as_answered_when_more_arrive_than_wait(collector: FewDescriptors) -> None:
    before = received(collector)
    found = statuses(collector, "http", post(HOST + LENGTH) * 200, 200)
    assert set(found[:-1]) == {200}
    assert found[-1] == 400
    assert received(collector) == before + len(found) - 1


@pytest.mark.parametrize(
    "wrong", [b"rubbish\r\n\r\n", post(LENGTH), post(HOST + b"Transfer-Encoding: chunked\r\n", b"x")]
)
def test_requests_before_a_wrong_one_are_answered_first(collector: FewDescriptors, wrong: bytes) -> None:
    before = received(collector)
    assert statuses(collector, "http", post(HOST + LENGTH) * 3 + wrong, 9) == [200, 200, 200, 400]
    assert received(collector) == before + 3


def test_a_client_that_leaves_behind_many_requests_leaves_no_traceback(collector: FewDescriptors) -> None:
    before = received(collector)
    with socket.create_connection(collector.addresses["http"], 30) as connection:
        connection.sendall(post(HOST + LENGTH) * 30)
    assert statuses(collector, "http", post(HOST + LENGTH)) == [200]
    assert before < received(collector) <= before + 31


ALLOWED = {
    ("http", "/v1/traces"): b"POST",
    ("web", "/healthz"): b"GET",
    ("web", "/api/top"): b"GET",
    ("web", "/api/sql"): b"POST",
    ("web", "/"): b"GET",
    ("clickhouse", "/"): b"GET, POST",
}


@pytest.mark.parametrize("method", [b"TRACE", b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"PROPFIND"])
@pytest.mark.parametrize(("port", "path"), ALLOWED)
def test_another_method_gets_405_with_those_that_are_allowed(
    collector: FewDescriptors, port: str, path: str, method: bytes
) -> None:
    with socket.create_connection(collector.addresses[port], 30) as connection:
        connection.sendall(method + b" " + path.encode() + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        head = b""
        while piece := connection.recv(65536):
            head += piece
    assert head.startswith(b"HTTP/1.1 405 ")
    allowed = re.search(rb"(?i)\r\nallow: ([^\r]*)", head)
    assert allowed is not None
    assert ALLOWED[port, path] in allowed[1]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(
            (host, 200)
            for host in ("localhost", "LocalHost.", "localhost:8464", "a.localhost", "[::1]:8464", "127.0.0.1")
        ),
        *((host, 421) for host in ("localhost..", "a..localhost", ".localhost", "localhost:99999", "localhost:-1")),
        *(
            (host, 421)
            for host in ("user@localhost", "[127.0.0.1]", "[::1%25lo]", "[::1", "::1", "127.1", "localhost/")
        ),
        *((host, 421) for host in ("localhost localhost", "localhost,evil", "localhost\\@evil", "localhost:8464:1")),
    ],
)
def test_only_names_of_this_machine_are_accepted(collector: FewDescriptors, host: str, status: int) -> None:
    sent = b"GET /healthz HTTP/1.1\r\nHost: " + host.encode() + b"\r\n\r\n"
    assert statuses(collector, "web", sent) == [status]


@pytest.mark.parametrize("path", ["/login", "/api/sql", "/api/advice/dismiss", "/api/deadletters/drop"])
@pytest.mark.parametrize(
    ("header", "is_own"),
    [
        ("Sec-Fetch-Site: cross-site", False),
        ("Sec-Fetch-Site: same-site", False),
        ("Origin: http://evil.example", False),
        ("Origin: null", False),
        ("Origin: http://localhost:1", False),
        ("Sec-Fetch-Site: same-origin\r\nOrigin: https://walltime.example", True),
        ("Sec-Fetch-Site: none", True),
        ("Origin: http://localhost", True),
        ("Accept: */*", True),
    ],
)
def test_a_page_of_another_site_cannot_change_anything(
    collector: FewDescriptors, path: str, header: str, is_own: bool
) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n{header}\r\n\r\n".encode()
    assert (statuses(collector, "web", head) == [403]) is not is_own
    reading = f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n".encode()
    assert statuses(collector, "web", reading) == [200]
