"""Whatever applications send, in whatever field: it is text on the pages, and runs nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser
from walltime_collector.health.incidents.current import Current

from tests import servers
from tests.browser import chromium
from tests.browser.payloads import payloads
from tests.collector.health.incidents.stored import slower, with_incidents
from tests.collector.traffic import Sent, SentCall, Value, export_request

MS = 1_000_000
BY_DAY = 1
"""So many payloads; by night all of them."""


def _sent(at: int, text: str, now_ns: int) -> Sent:
    """A transaction that has the payload in every field that takes text."""
    said: dict[str, Value] = {
        "server.address": text,
        "server.port": 3306,
        "db.query.text": f"SELECT `{text}` -- {text}",
    }
    where: dict[str, Value] = {
        "code.file.path": text,
        "code.function.name": text,
        "code.line.number": 7,
        "error.type": text,
    }
    calls = [
        SentCall("mysql.query", 0, 3 * MS, {**said, **where}),
        SentCall("memcache.get", 3 * MS, MS, {"server.address": text, "server.port": 1, "walltime.memcache.key": text}),
        SentCall(
            "http.request", 4 * MS, MS, {"server.address": text, "server.port": 80, "url.full": f"http://{text}/"}
        ),
        SentCall(text.replace(".", "_"), 5 * MS, MS, {"walltime.name": text}),
    ]
    attributes: dict[str, Value] = {
        "enduser.id": text,
        "user.id": text,
        text: text,
        "http.response.status_code": 500,
        "error.type": text,
    }
    return Sent(
        f"{at + 1:032x}",
        f"{at + 1:016x}",
        f"GET /{text}",
        now_ns - (at + 2) * MS,
        10 * MS,
        service="shop" if at % 2 else f"shop {text}",
        host=text,
        version=text,
        kept="random",
        is_error=True,
        calls=calls,
        attributes={**attributes, "walltime.kept": "random"},
    )


def _incident(each: Sent) -> Current:
    """An incident that has the payload in every field that takes text."""
    incident = slower(each.name, service=each.service, server=each.host)
    incident.started_s, incident.headline = each.started_ns // 10**9 // 60 * 60, each.name
    incident.sentences = (each.name, each.host)
    return incident


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[Sent]]]:
    now_ns = time.time_ns()
    sent = [_sent(at, text, now_ns) for at, text in enumerate(payloads())]
    data = with_incidents(tmp_path_factory.mktemp("hostile") / "data", *map(_incident, sent))
    with servers.Collector(data) as collector:
        assert collector.send(export_request(sent)).status_code == 200
        collector.wait_until_loaded(5 * len(sent))
        yield collector.web_url, sent


def _harmless(browser: Browser, web_url: str, paths: list[str]) -> None:
    with chromium.watched(browser, web_url) as watch:
        for path in paths:
            response = watch.open(path)
            assert response.status in (200, 404), path  # 404: an address that was cut or cleaned before it was stored
            assert watch.payloads_run() == [], path
            assert watch.problems == [], path


@pytest.mark.nightly
def test_lists_of_hostile_names_run_nothing(browser: Browser, hostile: tuple[str, list[Sent]]) -> None:
    _harmless(
        browser,
        hostile[0],
        ["/", "/?by=errors", "/servers", "/statements", "/collector", "/incidents", "/diff?when=service+=+shop"],
    )


def _views_of(web_url: str, each: Sent) -> list[str]:
    address = quote(f"{each.host}:3306", safe="")
    return [
        f"/transactions/{each.trace_id}",
        f"/kinds/{quote(each.service, safe='')}/{quote(each.name, safe='')}",
        f"/servers/mysql.query/{address}",
        f"/incidents/{_incident(each).id}",
        f"/diff?version={quote(each.host, safe='')}&against_version={quote(each.host + 'x', safe='')}",
        f"/?host={quote(each.host, safe='')}&user={quote(each.host, safe='')}",
    ]


@pytest.mark.parametrize("at", range(0, 200, 200 // BY_DAY))
def test_a_payload_runs_nothing(browser: Browser, hostile: tuple[str, list[Sent]], at: int) -> None:
    web_url, sent = hostile
    _harmless(browser, web_url, _views_of(web_url, sent[at]))


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_every_payload_runs_nothing(browser: Browser, hostile: tuple[str, list[Sent]], first: int) -> None:
    web_url, sent = hostile
    _harmless(browser, web_url, [path for each in sent[first : first + 20] for path in _views_of(web_url, each)])


@pytest.mark.nightly
def test_a_parameter_runs_nothing(browser: Browser, hostile: tuple[str, list[Sent]]) -> None:
    with chromium.watched(browser, hostile[0]) as watch:
        for text in payloads()[::100]:
            for name in ("time", "during", "kind", "annotation", "status", "nothing"):
                assert watch.open(f"/?{name}={quote(text, safe='')}").status in (200, 400)
                assert watch.payloads_run() == []
        assert watch.problems == []
