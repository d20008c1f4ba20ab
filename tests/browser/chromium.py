"""Debian's Chromium, driven by Playwright, and a page that records everything that must not happen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Playwright, Response, expect

expect.set_options(timeout=60_000)  # 5 s are too short for a busy machine
DESKTOP, PHONE = (1440, 900), (390, 844)
_MARK = """window.ran_payload = [];
for (const name of ["alert", "prompt", "confirm", "print"]) window[name] = (...x) => ran_payload.push(x);"""
_HARMLESS = ("Failed to load resource",)
"""Chromium's line for a status of 400 or more; the tests look at statuses themselves."""


def launch(playwright: Playwright) -> Browser:
    """Start it; without a sandbox, because CI is root."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        raise RuntimeError("there is no Chromium: apt-get install chromium, or `make setup`")
    return playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-dev-shm-usage"])


@dataclass
class Watched:
    """A page, and what it did."""

    page: Page
    base_url: str
    problems: list[str] = field(default_factory=list)
    """Errors of scripts, lines in the console, requests to elsewhere, statuses of 500 and more."""
    responses: list[Response] = field(default_factory=list)

    def open(self, path: str) -> Response:
        """Go there, until its charts are drawn and its later parts have arrived."""
        response = self.page.goto(f"{self.base_url}{path}", wait_until="networkidle")
        assert response is not None
        return response

    def screenshot(self, name: str) -> None:
        """For people, into the folder that the variable SCREENSHOTS names; otherwise none."""
        if folder := os.environ.get("SCREENSHOTS"):
            self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)

    def payloads_run(self) -> list[Any]:
        """What stored text could run."""
        return list(self.page.evaluate("window.ran_payload"))

    def serious(self) -> list[str]:
        """What axe finds serious or critical, one line each."""
        found = Axe().run(self.page, options={"resultTypes": ["violations"]}).response["violations"]
        return [
            f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
            for each in found
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"][:5]
        ]

    def overflow_px(self) -> int:
        """How much wider the page is than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@contextmanager
def watched(
    browser: Browser, base_url: str, *, size: tuple[int, int] = DESKTOP, scheme: Any = "light"
) -> Iterator[Watched]:
    """The one page of all tests, like a new one in a new profile: the process of another page costs 1 s of CPU."""
    page = browser.contexts[0].pages[0] if browser.contexts else _new_page(browser)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme)
    watch = Watched(page, base_url)

    def response(received: Response) -> None:
        watch.responses.append(received)
        if urlsplit(received.url).netloc != urlsplit(base_url).netloc:
            watch.problems.append(f"a request to {received.url}")
        if received.status >= 500:
            watch.problems.append(f"{received.status} from {received.url}")

    def page_error(error: Error) -> None:
        watch.problems.append(f"script: {error}")

    def console(line: ConsoleMessage) -> None:
        if line.type in ("error", "warning") and not line.text.startswith(_HARMLESS):
            watch.problems.append(f"console {line.type}: {line.text}")

    page.on("response", response)
    page.on("pageerror", page_error)
    page.on("console", console)
    try:
        yield watch
    finally:
        page.remove_listener("response", response)
        page.remove_listener("pageerror", page_error)
        page.remove_listener("console", console)
        _forget(page)


def _new_page(browser: Browser) -> Page:
    context = browser.new_context(timezone_id="Europe/Berlin", locale="en-GB")
    context.add_init_script(_MARK)
    page = context.new_page()
    page.context.new_cdp_session(page).send("Network.setCacheDisabled", {"cacheDisabled": True})
    return page


def _forget(page: Page) -> None:
    """What the page, its mouse, its storage and its history hold."""
    for other in page.context.pages[1:]:
        other.close()
    page.unroute_all()
    page.mouse.up()
    page.mouse.move(0, 0)
    if page.url.startswith("http"):
        page.evaluate("sessionStorage.clear(), localStorage.clear()")
    page.context.clear_cookies()
    page.goto("about:blank")
    history = page.context.new_cdp_session(page)
    history.send("Page.resetNavigationHistory")
    history.detach()
