"""Incidents in the charts: at their time, with a link for the mouse, and as a list for keyboard and screen readers."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect
from walltime_collector.format import iso_time

from tests.browser import chromium
from tests.browser.chromium import DESKTOP, PHONE, Watched
from tests.browser.story import KIND, Story
from tests.by_day import by_day

MARKED = ("overview", "kind", "server")


@pytest.mark.parametrize("view", by_day(MARKED, 3))
def test_every_chart_over_time_marks_the_incident_when_it_began(
    watch: Watched, told: Story, views: dict[str, str], view: str
) -> None:
    watch.open(views[view])
    page = watch.page
    charts = page.locator("figure.chart")
    expect(charts.locator(".flag")).to_have_count(charts.count())
    assert KIND in str(charts.locator(".flag").first.get_attribute("title"))
    began = page.evaluate(
        "(() => { const flag = document.querySelector('figure.chart .flag');"
        " const over = flag.parentElement, figure = flag.closest('figure');"
        " const chart = JSON.parse(document.getElementById(figure.dataset.source).textContent);"
        " const length = (chart.series[0].values.length) * chart.step_s;"
        " return chart.start_s + length * parseFloat(flag.style.left) / over.clientWidth; })()"
    )
    assert began == pytest.approx(told.incident.started_s, abs=60)
    described = charts.first.evaluate(
        "figure => document.getElementById(figure.getAttribute('aria-describedby')).textContent"
    )
    assert described == "1 incident of this time, marked in the charts"
    listed = page.get_by_role("region", name="Incidents")
    expect(listed.get_by_role("listitem")).to_contain_text(KIND)
    charts.locator(".flag").first.click()
    page.wait_for_url(f"**/incidents/{told.incident.id}*")
    page.go_back()
    page.get_by_role("region", name="Incidents").get_by_role("link", name=KIND).focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/incidents/{told.incident.id}*")


def test_a_mark_is_no_selection_and_a_selection_keeps_the_marks(
    watch: Watched, told: Story, views: dict[str, str]
) -> None:
    """The list is about the selection, as everything below the charts is."""
    page = watch.page
    watch.open(f"{views['kind']}?time=last+1h&during=2m..1m")
    expect(page.locator("figure.chart .flag")).to_have_count(page.locator("figure.chart").count())
    expect(page.get_by_role("region", name="Incidents").get_by_role("listitem")).to_have_count(0)
    page.locator("figure.chart .flag").first.click()
    page.wait_for_url(f"**/incidents/{told.incident.id}*")
    assert "during=2m..1m" in page.url


def test_a_time_without_incidents_has_no_marks(watch: Watched, told: Story) -> None:
    start, end = (iso_time(told.restarted_ns - minutes * 60 * 10**9)[:19] for minutes in (10, 5))
    watch.open(f"/?time={start}Z..{end}Z")
    expect(watch.page.locator("figure.chart canvas").first).to_be_visible()
    expect(watch.page.locator(".flag, #incidents")).to_have_count(0)


@pytest.mark.parametrize("view", MARKED)
@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        pytest.param(DESKTOP, "light", marks=pytest.mark.nightly),
        pytest.param(DESKTOP, "dark", marks=pytest.mark.nightly),
        pytest.param(PHONE, "light", marks=pytest.mark.nightly),
    ],
)
def test_the_marks_are_for_everybody(
    browser: Browser, told: Story, views: dict[str, str], view: str, size: tuple[int, int], scheme: str
) -> None:
    with chromium.watched(browser, told.web_url, size=size, scheme=scheme) as watch:
        watch.open(views[view])
        watch.screenshot(f"marks-{view}-{size[0]}-{scheme}")
        assert watch.serious() == []
        assert watch.overflow_px() <= 0
        assert watch.problems == []
