"""The page of the differences in a browser: chosen by keyboard, explained with a click, readable by everybody."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import chromium
from tests.browser.chromium import DESKTOP, PHONE, Watched
from tests.browser.deploy import AFTER, BEFORE, FAILING, FASTER, NEW, SLOWER, Deploy, deployed
from tests.by_day import by_day


@pytest.fixture(scope="module")
def deploy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deploy]:
    with deployed(tmp_path_factory.mktemp("deploy") / "data") as running:
        yield running


@pytest.fixture
def watch(browser: Browser, deploy: Deploy) -> Iterator[Watched]:
    with chromium.watched(browser, deploy.web_url) as watched:
        yield watched
        assert watched.problems == []


def test_what_changed_is_named_and_a_click_explains_it(watch: Watched, deploy: Deploy) -> None:
    watch.open(deploy.windows)
    page = watch.page
    table = page.get_by_role("table", name="Kinds that changed beyond chance")
    rows = table.locator("tbody tr")
    expect(rows).to_have_count(3)
    for change, kind in (("slower", SLOWER), ("faster", FASTER), ("more failed", FAILING)):
        expect(rows.filter(has_text=change)).to_contain_text(kind)
    expect(page.get_by_role("table", name="Kinds on one side only")).to_contain_text(NEW)
    table.get_by_role("link", name=f"Why did {SLOWER} change").click()
    expect(page.locator("#why .headline")).to_contain_text(SLOWER, timeout=30_000)
    page.go_back()
    expect(rows).to_have_count(3)


@pytest.mark.nightly
def test_two_versions_are_chosen_with_the_keyboard(watch: Watched) -> None:
    page = watch.page
    watch.open("/")
    page.get_by_role("link", name="Diff", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/diff")
    page.get_by_label("Against time").focus()
    expect(page.locator("#values-version option")).to_have_count(2)  # suggestions
    for text in ("", AFTER, BEFORE):
        page.keyboard.type(text)
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**against_version=9*")
    table = page.get_by_role("table", name="Kinds that changed beyond chance")
    expect(table).to_contain_text(SLOWER)
    expect(page.get_by_role("table", name="What is compared")).to_contain_text("version 10")
    expect(page.get_by_label("against version")).to_have_value(BEFORE)
    page.get_by_role("link", name="Remove the filter version").click()
    expect(page.get_by_role("alert")).to_contain_text("Two different versions are needed")
    expect(page.get_by_label("against version")).to_have_value(BEFORE)


@pytest.mark.nightly
def test_the_overview_leads_to_the_comparison_of_its_selection(watch: Watched, deploy: Deploy) -> None:
    page = watch.page
    watch.open(f"/?during={deploy.after}")
    page.get_by_role("link", name="Compare the selection, by kind").click()
    expect(page.get_by_role("table", name="Kinds that changed beyond chance")).to_contain_text(SLOWER)


@pytest.mark.parametrize(
    ("size", "scheme"),
    by_day([(PHONE, "light"), (DESKTOP, "light"), (DESKTOP, "dark")], 3),
)
def test_it_is_for_everybody(browser: Browser, deploy: Deploy, size: tuple[int, int], scheme: str) -> None:
    with chromium.watched(browser, deploy.web_url, size=size, scheme=scheme) as watch:
        watch.open(deploy.windows)
        watch.screenshot(f"diff-{size[0]}-{scheme}")
        assert watch.serious() == []
        assert watch.overflow_px() <= 0
        assert watch.problems == []


@pytest.mark.nightly
def test_without_javascript_the_form_compares_too(browser: Browser, deploy: Deploy) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{deploy.web_url}/diff")
    page.get_by_label("Those with", exact=True).fill("version = 10")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("table", name="Kinds that changed beyond chance")).to_contain_text(SLOWER)
    page.get_by_role("link", name="10 against 9").click()
    expect(page.get_by_role("table", name="What is compared")).to_contain_text("version 9")
    context.close()
