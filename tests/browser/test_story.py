"""Somebody who has read nothing finds out in a browser why the slow minutes were slow."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from tests.browser.chromium import Watched
from tests.browser.story import KIND, RESTARTED, Story


def test_from_the_overview_within_three_clicks(watch: Watched, told: Story) -> None:
    """Click a kind, drag over the hump, click the server that the explanation names."""
    page = watch.page
    watch.open("/")
    page.locator("table.kinds").get_by_role("link", name=KIND).click()
    page.wait_for_url("**/kinds/shop/**")
    page.wait_for_load_state("networkidle")
    _drag_over_the_hump(watch, told)
    sentence = page.get_by_text(f"because memcache.get on {RESTARTED} hits")
    sentence.wait_for()
    assert "mysql.query" in sentence.inner_text()
    page.get_by_role("link", name=RESTARTED).first.click()
    page.wait_for_url("**/servers/**")
    assert RESTARTED in page.locator("h1").inner_text()


def test_a_selection_is_in_the_address_and_the_back_button_removes_it(watch: Watched, told: Story) -> None:
    page = watch.page
    kinds, chips = page.locator("main table.kinds"), page.locator(".chips")
    watch.open("/")
    expect(chips).to_have_count(0)
    _drag_over_the_hump(watch, told)
    expect(chips).to_contain_text("selection")
    selected, narrowed = page.url, kinds.inner_text()
    assert "during" in parse_qs(urlsplit(selected).query)

    page.go_back()
    expect(chips).to_have_count(0)
    expect(kinds).not_to_have_text(narrowed, use_inner_text=True)
    page.go_forward()
    expect(chips).to_contain_text("selection")
    assert page.url == selected
    expect(kinds).to_have_text(narrowed, use_inner_text=True)

    page.goto("about:blank")
    page.goto(selected, wait_until="networkidle")
    assert kinds.inner_text() == narrowed


def _drag_over_the_hump(watch: Watched, told: Story) -> None:
    """Press, move and release the mouse over the first chart, where the cache was cold."""
    page = watch.page
    over = page.locator("figure.chart .u-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    start_s, end_s = page.evaluate(
        "(() => { const figure = document.querySelector('figure.chart');"
        " const chart = JSON.parse(document.getElementById(figure.dataset.source).textContent);"
        " return [chart.start_s, chart.start_s + chart.series[0].values.length * chart.step_s]; })()"
    )
    at = [
        box["x"] + box["width"] * (ns / 1e9 - start_s) / (end_s - start_s) for ns in (told.restarted_ns, told.warm_ns)
    ]
    middle = box["y"] + box["height"] / 2
    page.mouse.move(at[0] + 2, middle)
    page.mouse.down()
    page.mouse.move((at[0] + at[1]) / 2, middle)
    page.mouse.move(at[1] - 2, middle)
    page.mouse.up()
    page.wait_for_url("**during=**")
    page.wait_for_load_state("networkidle")
