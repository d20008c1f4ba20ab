"""Which hosts get `traceparent`: setting `propagate_to`, with every HTTP client."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Callable, Iterator

import aiohttp
import httpx
import pytest
import requests
import walltime
from walltime.core.ids import Ids
from walltime.core.transaction import Transaction
from walltime.propagation.recipients import is_recipient

from tests.sdk.clients.http.upstream import Upstream
from tests.sdk.sink import Sink


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    walltime.uninstrument()


async def _aiohttp(url: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        await answer.read()


def _urllib(url: str) -> None:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310  # of the test's own server
        answer.read()


@pytest.mark.setting("propagate_to")
@pytest.mark.parametrize(
    ("hosts", "is_told"),
    [(("*",), True), (("*.shop.internal", "127.0.0.*"), True), (("*.shop.internal",), False), (("none",), False)],
)
@pytest.mark.parametrize(
    "get",
    [requests.get, httpx.get, lambda url: asyncio.run(_aiohttp(url)), _urllib],
)
def test_only_the_hosts_of_the_setting_get_our_headers(
    sink: Sink, upstream: Upstream, hosts: tuple[str, ...], is_told: bool, get: Callable[[str], object]
) -> None:
    walltime.configure(endpoint=sink.endpoint, propagate_to=hosts)
    walltime.instrument()
    with walltime.transaction("job"):
        get(f"{upstream.url}/")
    assert [("traceparent" in {name.lower() for name in headers}) for headers in upstream.headers] == [is_told]
    assert sink.transaction().cell("http.request") == {"calls": 1}


@pytest.mark.parametrize(
    "host", ["shop.internal", "Api.Shop.Internal", "10.1.2.3", "[::1]", "api.shop.internal.evil.example", ""]
)
def test_a_host_is_told_when_a_pattern_is_all_of_its_name(host: str) -> None:
    settings = walltime.Settings(propagate_to=("*.shop.internal", "10.*", "::1"))
    transaction = Transaction("job", "internal", Ids(1, 2), 0, 0, settings)
    assert is_recipient(transaction, host) == (host in {"Api.Shop.Internal", "10.1.2.3", "[::1]"})
