"""A board drawn in Chromium, whose picture can be kept and whose faults are listed."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Route

from tests.dashboards.conftest import Grafana
from tests.dashboards.grafana import Plugin
from tests.dashboards.pictures.asked import opened
from tests.dashboards.pictures.bundle import FONTS, bundled, modules

Theme = Literal["light", "dark"]
_ADDRESS = "http://grafana.test"
_HIGH_PX = 1000


@dataclass
class Drawing:
    """Draws one board after another in one page; nothing it asks for leaves the machine."""

    page: Page
    grafana: Grafana
    plugin: Plugin = "4"
    is_old_table: bool = False
    """Tables as up to Grafana 11, instead of 12's."""
    faults: list[str] = field(default_factory=list)
    """Of scripts, in the board being drawn."""

    def draw(self, board: dict[str, Any], theme: Theme, width: int, chosen: Mapping[str, str]) -> None:
        """Ask what the board asks and show it in the page, which is then as long as the board."""
        self.faults.clear()
        shown = self.grafana.shown
        time = {"from": shown.from_s * 1000, "to": shown.to_s * 1000}
        intervals = self.page.evaluate("([board, width, time]) => intervals(board, width, time)", [board, width, time])
        answers = opened(self.grafana, board, intervals, chosen, self.plugin)
        given = {**vars(answers), "width": width, "mode": theme, "time": time, "oldTable": self.is_old_table}
        self.page.set_viewport_size({"width": width, "height": _HIGH_PX})
        self.page.evaluate("(given) => draw(given)", given)
        self.page.wait_for_function("document.querySelectorAll('[data-panel]').length > 0")
        high = self.page.evaluate("document.querySelector('.page').scrollHeight")
        self.page.set_viewport_size({"width": width, "height": high})
        self.page.wait_for_timeout(500)  # legends are measured, then plots are drawn again, and nothing says when

    def problems(self, *, is_empty_allowed: bool = False) -> list[str]:
        """What a person would see to be wrong, one line each."""
        seen = self.page.evaluate("(isEmptyAllowed) => problems({isEmptyAllowed})", is_empty_allowed)
        return [*(f"script: {fault}" for fault in self.faults), *seen]


@contextmanager
def drawing(browser: Browser, grafana: Grafana, *, is_old_table: bool = False) -> Iterator[Drawing]:
    """The page with Grafana's packages, without a board."""
    page = browser.new_page()
    drawn = Drawing(page, grafana, is_old_table=is_old_table)
    page.on("pageerror", lambda error: drawn.faults.append(str(error)))
    page.route("**/*", _serve)
    page.goto(_ADDRESS)
    yield drawn
    page.close()


def _serve(route: Route) -> None:
    path = urlsplit(route.request.url).path
    if not route.request.url.startswith(_ADDRESS):
        route.abort()
        return
    file = _file(path)
    if file is None or not file.is_file():
        route.fulfill(status=404)
        return
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    route.fulfill(status=200, content_type=kind, body=file.read_bytes())


def _file(path: str) -> Path | None:
    packages = modules()
    for asked, file in FONTS.items():
        if path.startswith(f"/public/fonts/{asked}"):
            return packages / file
    if path.startswith("/public/"):
        return packages / "@grafana" / "ui" / "dist" / "public" / path.removeprefix("/public/").removeprefix("build/")
    return bundled() / (path.lstrip("/") or "index.html")
