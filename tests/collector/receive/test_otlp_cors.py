"""Web pages: those of allowed origins can send and read the responses, all others cannot."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from walltime_collector.errors import SettingsRefused
from walltime_collector.receive.cors import origin_pattern

from tests.collector.clickhouse.spans import request, span
from tests.servers import Collector, over_http

ALLOWED = ["https://shop.example.com", "https://a.b.example.org", "http://localhost:3000"]
REFUSED = [
    "https://shop.example.com.evil.example",
    "https://evil-example.org",
    "https://example.org",
    "http://shop.example.com",
    "https://shop.example.com:8443",
    "https://evil.example/.example.org",
    "null",
]
TOKEN = "a-token-for-the-senders"
BODY = request(span()).SerializeToString()


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    origins = "https://shop.example.com, https://*.example.org, http://localhost:3000"
    folder = tmp_path_factory.mktemp("cors") / "data"
    with Collector(folder, cors_allowed_origins=origins, ingest_token=TOKEN) as running:
        yield running


def preflight(collector: Collector, origin: str) -> httpx.Response:
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,authorization,x-tenant",
    }
    return over_http("OPTIONS", collector.otlp_url, headers=headers)


def sent(collector: Collector, origin: str, token: str = TOKEN) -> httpx.Response:
    return collector.send(BODY, origin=origin, authorization=f"Bearer {token}")


@pytest.mark.parametrize("origin", ALLOWED)
def test_a_page_of_an_allowed_origin_can_send_and_read_the_response(collector: Collector, origin: str) -> None:
    response = preflight(collector, origin)
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == origin
    assert "POST" in response.headers["access-control-allow-methods"]
    for name in ("content-type", "authorization", "x-tenant"):
        assert name in response.headers["access-control-allow-headers"]
    assert response.headers["access-control-allow-credentials"] == "true"
    answer = sent(collector, origin)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, origin)
    refused = sent(collector, origin, "not-the-token")
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, origin)


@pytest.mark.parametrize("origin", REFUSED)
def test_a_page_of_another_origin_can_neither_send_nor_read(collector: Collector, origin: str) -> None:
    for answer in (preflight(collector, origin), sent(collector, origin)):
        assert answer.status_code in (400, 403)
        assert "access-control-allow-origin" not in answer.headers


def test_clients_that_are_not_browsers_can_send(collector: Collector) -> None:
    assert collector.send(BODY, authorization=f"Bearer {TOKEN}").status_code == 200


def test_without_origins_no_page_can_send(receiver: Collector) -> None:
    response = preflight(receiver, ALLOWED[0])
    assert response.status_code == 403
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "origin", ["shop.example.com", "https://shop.example.com/", "ftp://shop.example.com", "https://"]
)
def test_a_wrong_origin_is_refused_at_the_start(origin: str) -> None:
    with pytest.raises(SettingsRefused, match="not an origin; write scheme, host and port alone"):
        origin_pattern([origin])


def test_the_origin_star_allows_every_page() -> None:
    pattern = origin_pattern(["*"])
    assert pattern is not None
    assert pattern.fullmatch("https://any.example")
