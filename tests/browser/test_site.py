"""The documentation as a site, in a real browser: readable on a desktop, a phone and in the dark, from one host."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Browser

from tests.browser import chromium
from tests.docs.site import build

pytestmark = pytest.mark.nightly  # by day, the site is built without a warning (tests/docs)

PAGES = ("index", "why", "settings", "measurements", "architecture")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Tests have their own output."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    html = build(tmp_path_factory.mktemp("site"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(html)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("size", "scheme"),
    [(chromium.DESKTOP, "light"), (chromium.DESKTOP, "dark"), (chromium.PHONE, "light"), (chromium.PHONE, "dark")],
    ids=["desktop", "desktop-dark", "phone", "phone-dark"],
)
def test_pages_fit_are_accessible_and_ask_no_other_host(
    browser: Browser, site: str, size: tuple[int, int], scheme: str
) -> None:
    with chromium.watched(browser, site, size=size, scheme=scheme) as watch:
        for page in PAGES:
            response = watch.open(f"/{page}.html")
            assert response.ok
            assert watch.overflow_px() <= 0, page
            if page == "settings" and size == chromium.DESKTOP:  # a phone scrolls the theme's tables with a finger
                assert watch.serious() == []
            watch.screenshot(f"site-{page}-{size[0]}-{scheme}")
        assert watch.problems == []


def test_the_search_finds_a_setting(browser: Browser, site: str) -> None:
    with chromium.watched(browser, site) as watch:
        watch.open("/index.html")
        watch.page.keyboard.press("Control+k")
        watch.page.keyboard.type("retention_spans_days", delay=1)
        watch.page.get_by_role("link", name="Settings").first.wait_for()
        assert watch.problems == []
