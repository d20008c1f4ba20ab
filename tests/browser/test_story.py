"""Somebody who has read nothing finds out in a browser why the slow minutes were slow."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from tests.browser.chromium import Watched
from tests.browser.story import KIND, RESTARTED, Story


def test_from_the_overview_within_three_clicks(watch: Watched, told: Story) -> None:
    """Click a kind, drag over the hump, click the server that the explanation names."""
    page = watch.page
    watch.open("/")
    page.get_by_role("link", name=KIND).click()
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
    watch.open("/")
    before = page.locator("main").inner_text()
    _drag_over_the_hump(watch, told)
    selected = page.url
    assert "during" in parse_qs(urlsplit(selected).query)
    narrowed = page.locator("main table.kinds").inner_text()
    assert narrowed not in before

    page.go_back()
    page.wait_for_url(lambda url: "during" not in url)
    page.wait_for_load_state("networkidle")
    page.go_forward()
    page.wait_for_url(selected)
    page.wait_for_load_state("networkidle")
    assert page.locator("main table.kinds").inner_text() == narrowed

    page.goto("about:blank")
    page.goto(selected, wait_until="networkidle")
    assert page.locator("main table.kinds").inner_text() == narrowed


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
