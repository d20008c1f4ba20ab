"""The pages of servers: the one that became worse is named first, and addresses of every form have a page."""

from __future__ import annotations

import time
from urllib.parse import quote

import pytest
from walltime_collector.pages import urls

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.pages.conftest import Browser
from tests.collector.traffic import CACHES, MS, Sent, SentCall, Value

ADDRESSES = (
    "127.0.0.1:11211",
    "[::1]:3306",
    "/run/mysqld.sock",
    "db.example:3306",
    "a/b?c#d%2F:1",
    "..",
    "x.json",
    "<script>alert(1)</script>'\"",
)


@pytest.fixture(scope="module", autouse=True)
def restarted(store: Store) -> int:
    """An hour of lookups on two caches; the first one is restarted 30 minutes ago and is full again 5 minutes later."""
    now_ns = time.time_ns()
    at_ns = (now_ns - 30 * MINUTE_NS) // (30 * 1_000_000_000) * (30 * 1_000_000_000)
    sent = []
    for at in range(700):
        started_ns = now_ns - 58 * MINUTE_NS + at * 5_000_000_000
        each = Sent(f"{at + 1:032x}", f"{at + 1:016x}", "GET /cached", started_ns, 90 * MS)
        is_empty = at_ns <= started_ns < at_ns + 5 * MINUTE_NS
        for n in range(8):
            address = CACHES[n % 2]
            result = "miss" if is_empty and n % 2 == 0 else "hit"
            host, _, port = address.rpartition(":")
            said: dict[str, Value] = {"server.address": host, "server.port": int(port)}
            said |= {"walltime.memcache.key": "product:#5f1c", "walltime.memcache.result": result}
            each.calls.append(SentCall("memcache.get", n * MS, MS // 5, said))
        each.kept = "random" if at % 10 == 0 else ""
        sent.append(each)
    for at, address in enumerate(ADDRESSES):
        each = Sent(f"{at + 1:032d}", f"{at + 1:016d}", "GET /elsewhere", now_ns - MINUTE_NS, 90 * MS)
        each.attributes = {
            "walltime.target.component": ["mysql.query"],
            "walltime.target.address": [address],
            "walltime.target.calls": [at + 1],
            "walltime.target.time_ns": [(at + 1) * MS],
        }
        sent.append(each)
    store(sent)
    return at_ns


def test_the_server_that_was_restarted_is_named_first_with_its_time(browser: Browser, restarted: int) -> None:
    model = browser.get("/servers.json").json()
    assert [(each["address"], each["moment"]["measure"]) for each in model["worse"]] == [(CACHES[0], "hit_ratio")]
    moment = model["worse"][0]["moment"]
    assert moment["start_ns"] == restarted
    assert abs(moment["end_ns"] - restarted - 5 * MINUTE_NS) <= MINUTE_NS // 2
    assert (moment["value"], moment["usual"]) == (0, 1)
    page = browser.get("/servers").text
    assert "Worse than usual" in page
    assert page.index("Worse than usual") < page.index(f"on <b>{CACHES[0]}") < page.index("Servers by component")


def test_a_selection_is_what_the_numbers_are_about(browser: Browser, restarted: int) -> None:
    during = f"{_iso(restarted)}..{_iso(restarted + 4 * MINUTE_NS)}"
    model = browser.get(f"{urls.server('memcache.get', CACHES[0])}.json?during={during}").json()
    server = model["detail"]["server"]
    assert (server["hits"], server["hit_ratio"]) == (0, 0)
    assert len(model["charts"][0]["series"][0]["values"]) > 100  # the chart still shows the whole time
    page = browser.get(f"{urls.server('memcache.get', CACHES[0])}?during={during}").text
    link = urls.kind("shop", "GET /cached", {"during": during}).replace("&", "&amp;")
    assert link in page, "the kind explains the selected time"


def test_a_selection_may_lie_outside_of_the_time(browser: Browser, restarted: int) -> None:
    during = f"{_iso(restarted)}..{_iso(restarted + 4 * MINUTE_NS)}"
    address = f"{urls.server('memcache.get', CACHES[0])}.json?time=last+2m&during={during}"
    assert browser.get(address).json()["detail"]["server"]["hit_ratio"] == 0


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_of_any_form_has_its_page(browser: Browser, address: str) -> None:
    calls = ADDRESSES.index(address) + 1
    path = urls.server("mysql.query", address)
    assert browser.get(f"{path}.json").json()["detail"]["server"]["calls"] == calls
    page = browser.get(path)
    assert page.status_code == 200
    servers = browser.get("/servers").text
    assert f'href="{path}"' in servers
    assert "<script>alert" not in servers + page.text
    if "%" not in address and address not in ("..", "x.json", "<script>alert(1)</script>'\""):
        assert browser.get(f"/servers/mysql.query/{quote(address, safe='')}").status_code == 200


def test_an_unknown_server_is_a_page_that_states_what_to_do(browser: Browser) -> None:
    page = browser.get("/servers/memcache.get/10.9.9.9:1")
    assert page.status_code == 404
    assert "No call of memcache.get on 10.9.9.9:1 is stored of this time" in page.text
    assert browser.get("/servers/memcache.get/10.9.9.9:1.json").json()["error"]["where"] == "server"


def test_key_prefixes_are_estimated_and_it_is_stated(browser: Browser) -> None:
    page = browser.get(urls.server("memcache.get", CACHES[1])).text
    assert "<code>product:</code>" in page
    assert "Estimated from 280 kept calls of 70 transactions" in " ".join(page.split())


def test_without_calls_the_page_states_what_to_do(browser: Browser) -> None:
    page = browser.get("/servers?service=nobody").text
    assert "No call to a server is stored for this time" in page


def _iso(ns: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ns / 1e9))
