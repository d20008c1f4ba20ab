"""Every view in a real browser: it draws, it is readable by everybody, and it asks nothing of anybody else."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser import chromium
from tests.browser.chromium import DESKTOP, PHONE, Watched
from tests.browser.story import Story
from tests.by_day import by_day

VIEWS = (
    "overview",
    "kind",
    "transactions",
    "diff",
    "transaction",
    "servers",
    "server",
    "statements",
    "statement",
    "collector",
    "sql",
    "advice",
    "incidents",
    "incident",
    "database",
)
WITH_CHARTS = ("overview", "kind", "server", "database", "statement")
HEAVIEST_BYTES = 250_000


@pytest.mark.parametrize("view", by_day(VIEWS, 3))
@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        (DESKTOP, "light"),
        pytest.param(DESKTOP, "dark", marks=pytest.mark.nightly),
        pytest.param(PHONE, "light", marks=pytest.mark.nightly),
    ],
)
def test_a_view_draws_and_everybody_can_use_it(
    browser: Browser, told: Story, views: dict[str, str], view: str, size: tuple[int, int], scheme: str
) -> None:
    with chromium.watched(browser, told.web_url, size=size, scheme=scheme) as watch:
        response = watch.open(views[view])
        watch.screenshot(f"{view}-{'phone' if size == PHONE else scheme}")

        assert response.status == 200
        assert watch.problems == []
        assert watch.page.locator("main").inner_text().strip()
        assert watch.page.locator("h1").count() == 1
        assert watch.serious() == []
        assert watch.overflow_px() <= 0
        assert sum(each.request.sizes()["responseBodySize"] for each in watch.responses) <= HEAVIEST_BYTES
        if view in WITH_CHARTS:
            assert watch.page.locator("figure.chart canvas").count() >= 2


def test_the_views_can_be_walked_through_with_the_keyboard(watch: Watched) -> None:
    watch.open("/")
    watch.page.keyboard.press("Tab")
    assert watch.page.evaluate("document.activeElement.textContent") == "Skip to the content"
    reached = []
    for _ in range(60):
        watch.page.keyboard.press("Tab")
        reached.append(watch.page.evaluate("document.activeElement.getAttribute('href') || ''"))
    assert "/servers" in reached
    assert any(href.startswith("/kinds/shop/") for href in reached)


@pytest.mark.nightly
def test_a_page_without_javascript_has_its_numbers(browser: Browser, told: Story, views: dict[str, str]) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(f"{told.web_url}{views['overview']}")
        page.locator("table.kinds").get_by_role("link", name="GET /product/{id}").click()
        assert "GET /product/{id}" in page.locator("main").inner_text()
    finally:
        context.close()
