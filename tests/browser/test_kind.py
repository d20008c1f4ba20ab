"""The view of a kind in a browser: its heat map, and what explains a part of its transactions."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import Watched
from tests.browser.story import KIND, RESTARTED

_MS = 30_000
"""For an explanation on a busy machine."""


@pytest.fixture
def page(watch: Watched, views: dict[str, str]) -> Page:
    watch.open(views["kind"])
    return watch.page


def test_the_heat_map_is_drawn_and_reads_its_cells_to_a_mouse_and_a_keyboard(page: Page) -> None:
    shades = page.evaluate(
        "(() => { const canvas = document.querySelector('figure.heat canvas');"
        " const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
        " const seen = new Set();"
        " for (let at = 0; at < data.length; at += 4) seen.add(data.slice(at, at + 4).join());"
        " return seen.size; })()"
    )
    assert shades > 8
    text = page.locator("figure.heat .at")
    expect(text).to_have_text(re.compile(r"^p50 [\d.]+ ms, p95 "))
    page.locator("figure.heat .u-over").hover()
    expect(text).to_have_text(re.compile(r"^\d\d:\d\d:\d\d: \d+ transactions"))

    page.locator(".ramp summary").focus()
    page.keyboard.press("Enter")
    table = page.get_by_role("table", name="Transactions by duration")
    expect(table).to_be_visible()
    assert table.get_by_role("row").count() > 3


def test_the_slow_minutes_stand_out_and_a_click_explains_them(page: Page) -> None:
    offer = page.locator(".offers li").first
    expect(offer).to_contain_text("stands out")
    offer.get_by_role("link").click()
    expect(page.locator("#why .headline")).to_contain_text(KIND, timeout=_MS)
    expect(page.locator("#why .verdict")).to_contain_text(f"because memcache.get on {RESTARTED} hits")
    steps = page.locator("table.waterfall tbody tr")
    expect(steps.first).to_contain_text("usual")
    expect(steps.last).to_contain_text("selected")
    assert page.locator("figure.chart canvas").count() == 4
    page.locator("#why .examples a").first.click()
    page.wait_for_url("**/transactions/**")
    page.go_back()
    expect(page.locator("#why .headline")).to_contain_text(KIND, timeout=_MS)


@pytest.mark.nightly
def test_the_slowest_are_explained_with_a_click_and_closed_with_another(page: Page) -> None:
    page.get_by_role("link", name="Compare them with the others").click()
    expect(page.locator("#why .headline")).to_contain_text("the slowest 5", timeout=_MS)
    page.locator("#why").get_by_role("link", name="Close").click()
    expect(page.locator(".offers")).to_be_visible()
    assert "slowest" not in page.url
