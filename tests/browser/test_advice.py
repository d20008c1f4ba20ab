"""An advice in a browser: dismissed and shown again, with mouse and keyboard, where a token permits it."""

from __future__ import annotations

import re
import secrets
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import chromium
from tests.browser.chromium import DESKTOP, PHONE, Watched
from tests.collector.traffic import DATABASE, MS, Sent, SentCall, Value, export_request
from tests.servers import Collector, eventually, over_http

ADMIN = "admin-2b7e151628aed2"
EVIL = "<img src=x onerror=alert(1)>"


def _n_plus_one(at: int, now_ns: int) -> Sent:
    """Ten times the same statement."""
    host, _, port = DATABASE.rpartition(":")
    sql: dict[str, Value] = {"db.query.text": "SELECT 1", "server.address": host, "server.port": int(port)}
    calls = [SentCall("mysql.query", 2 * each * MS, 2 * MS, sql) for each in range(10)]
    ids = secrets.token_hex(16), secrets.token_hex(8)
    return Sent(*ids, f"GET /{EVIL}", now_ns - (at + 2) * 10**9, 25 * MS, kept="random", calls=calls)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its cookie permits reading; changes need the admin token again."""
    now_ns = time.time_ns()
    with Collector(tmp_path_factory.mktemp("advice") / "data", admin_token=ADMIN) as collector:
        assert collector.send(export_request([_n_plus_one(at, now_ns) for at in range(40)])).status_code == 200
        eventually(lambda: _get(collector.web_url, "/healthz")["spans"]["stored"] >= 40)
        yield collector.web_url


def _get(url: str, path: str) -> Any:
    return over_http("GET", f"{url}{path}", headers={"authorization": f"Bearer {ADMIN}"}).json()


def _sign_in(page: Page, url: str) -> None:
    page.goto(f"{url}/advice")
    page.locator("input[name=token]").fill(ADMIN)
    page.keyboard.press("Enter")
    page.wait_for_load_state("networkidle")


@pytest.fixture
def watch(browser: Browser, url: str) -> Iterator[Watched]:
    with chromium.watched(browser, url) as watched:
        _sign_in(watched.page, url)
        yield watched
        assert (watched.problems, watched.payloads_run()) == ([], [])


class Remote(Collector):
    """Its pages are at an address that browsers do not trust: they say less of where a form comes from."""

    options = ("--web", "0.0.0.0:0")


def test_a_browser_signs_in_without_tls_from_another_machine(browser: Browser, tmp_path: Path) -> None:
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with out, Remote(tmp_path / "data", admin_token=ADMIN) as remote:
        out.connect(("192.0.2.1", 9))  # sends nothing
        url = f"http://{out.getsockname()[0]}:{remote.web_url.rpartition(':')[2]}"
        with chromium.watched(browser, url) as watched:
            _sign_in(watched.page, url)
            statuses = [response.status for response in watched.responses if response.request.is_navigation_request()]
            assert statuses == [401, 303, 200]
            assert watched.page.url == f"{url}/advice"


def test_the_form_is_never_sent_by_the_browser_itself(watch: Watched, url: str) -> None:
    """Its address would have the token, where a script has not been loaded yet."""
    page = watch.page
    page.locator("form[data-decide=dismiss]").first.evaluate("form => HTMLFormElement.prototype.submit.call(form)")
    page.wait_for_load_state("networkidle")
    assert page.url == f"{url}/advice"


def test_an_advice_is_dismissed_with_the_admin_token_and_shown_again(watch: Watched, url: str) -> None:
    page = watch.page
    advice = page.locator("ol.advice > li").first
    status = advice.get_by_role("status")
    advice.get_by_text("Dismiss this advice").click()
    advice.get_by_label("reason").fill(f"later {EVIL}")
    advice.get_by_label("admin token").first.fill("wrong-2b7e151628aed2")
    advice.get_by_role("button", name="Dismiss").click()
    expect(status).to_have_text("this token permits no changes; send the admin token")

    advice.get_by_label("admin token").first.fill(ADMIN)
    advice.get_by_role("button", name="Dismiss").click()
    expect(status).to_have_text(re.compile(rf"^Dismissed until \d{{4}}-\d\d-\d\d: later {re.escape(EVIL)}$"))
    undo = advice.get_by_role("button", name="Undo")
    expect(undo).to_be_focused()
    (dismissal,) = _get(url, "/api/advice/dismissed")["dismissals"]
    assert dismissal["why"] == f"later {EVIL}"

    page.reload(wait_until="networkidle")  # at once, though answers are shared for ten seconds
    expect(page.locator("ol.advice > li")).to_have_count(0)
    page.get_by_role("link", name="1 dismissed").click()
    expect(status).to_contain_text("Dismissed until")
    advice.get_by_label("admin token").last.fill(ADMIN)
    undo.click()
    expect(status).to_have_text("Shown again")
    assert _get(url, "/api/advice/dismissed") == {"dismissals": []}


@pytest.mark.nightly
def test_it_is_done_with_the_keyboard_and_the_token_is_typed_once(watch: Watched, url: str) -> None:
    page = watch.page
    page.locator(".decision summary").first.focus()
    for key in ("Enter", "Tab", "Tab", "Tab"):
        page.keyboard.press(key)
    page.keyboard.type(ADMIN)
    page.keyboard.press("Enter")
    status = page.locator("ol.advice > li").first.get_by_role("status")
    expect(status).to_contain_text("Dismissed until")
    page.keyboard.press("Enter")  # Undo has the focus
    expect(status).to_have_text("Shown again")
    assert _get(url, "/api/advice/dismissed") == {"dismissals": []}


def test_a_collector_that_is_gone_is_said(watch: Watched) -> None:
    page = watch.page
    page.route("**/api/advice/*", lambda route: route.abort())
    page.locator(".decision summary").first.click()
    page.get_by_label("admin token").first.fill(ADMIN)
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".decision").first.get_by_role("status")).to_have_text("The collector does not answer.")


@pytest.mark.parametrize(
    ("size", "scheme"), [pytest.param(DESKTOP, "dark", marks=pytest.mark.nightly), (PHONE, "light")]
)
def test_it_is_for_everybody(browser: Browser, url: str, size: tuple[int, int], scheme: str) -> None:
    with chromium.watched(browser, url, size=size, scheme=scheme) as watch:
        _sign_in(watch.page, url)
        watch.page.locator(".decision summary").first.click()
        assert watch.serious() == []
        assert watch.overflow_px() <= 0


@pytest.mark.nightly
def test_without_javascript_there_is_the_command(browser: Browser, url: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    _sign_in(page, url)
    page.locator(".decision summary").first.click()
    expect(page.get_by_text("walltime advise --dismiss").first).to_be_visible()
    expect(page.locator("form[data-decide]").first).to_be_hidden()
    context.close()
