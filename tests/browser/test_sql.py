"""The SQL editor: a table, a chart, marks on what is refused, downloads, cancel, keyboard, the back button."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from walltime_collector.sql.runner import MAX_EXECUTION_S, RUN_AT_ONCE

from tests.browser import chromium, story
from tests.by_day import by_day
from tests.collector.cli.command import run
from tests.servers import over_http

LONG = "SELECT sum(length(repeat(toString(number), 200))) FROM numbers(900000000)"


@pytest.fixture
def watch(browser: Browser, told: story.Story) -> Iterator[chromium.Watched]:
    with chromium.watched(browser, told.web_url) as watched:
        watched.open("/sql")
        yield watched
        assert watched.problems == []


def ask(page: Page, statement: str) -> None:
    page.fill("#statement", statement)
    page.press("#statement", "Control+Enter")
    expect(page.locator(".run")).to_be_enabled()


def test_the_answer_is_a_table_whose_texts_are_texts(watch: chromium.Watched) -> None:
    page = watch.page
    payload = "<img src=x onerror=alert(1)>"
    ask(page, f"SELECT number, NULL AS n, [1, 2] AS list, toUInt64(-1) AS big, '{payload}' AS t FROM numbers(1500)")
    expect(page.locator(".summary strong")).to_have_text("The first 1,000 of 1,500 rows; CSV and JSON have all.")
    assert page.locator(".rows tbody tr").count() == 1_000
    cells = page.locator(".rows tbody tr").nth(7).locator("td").all_inner_texts()
    assert cells == ["7", "NULL", "[1, 2]", "18446744073709551615", payload]
    assert watch.payloads_run() == []


def test_a_time_and_numbers_are_a_chart_and_a_trace_is_a_link(watch: chromium.Watched, told: story.Story) -> None:
    page = watch.page
    page.click("text=Response time, minute by minute")
    expect(page.locator(".drawn canvas")).to_be_visible()
    assert page.locator(".drawn .legend th").all_text_contents() == [" mean_ms", " p95_ms"]
    page.click("[data-show=table]")
    assert page.locator(".rows tbody tr").count() > 10
    page.click("text=The slowest transactions")
    expect(page.locator(".rows tbody tr")).to_have_count(20)
    page.locator(".rows tbody a").first.click()
    page.wait_for_url("**/transactions/*")
    assert page.url.rpartition("/")[2] in {sent.trace_id for sent in told.sent}


@pytest.mark.parametrize(
    ("statement", "marked"),
    by_day(
        [
            ("SELECT 'ä€', sleep(1)", "sleep"),
            ("SELECT 'nothing' AS a,\n  nothing\nFROM transactions", "nothing"),
            ("SELECT * FROM system.users", "system.users"),
            ("SELECT 'ä€' AS a\nFROM transactions WHERE ,", ","),
            ("SELECT 1 INTO OUTFILE 'x'", "INTO OUTFILE"),
            ("DROP TABLE transactions", "DROP"),
        ],
        3,
    ),
)
def test_what_is_refused_is_marked_where_it_is(
    browser: Browser, told: story.Story, statement: str, marked: str
) -> None:
    with chromium.watched(browser, told.web_url) as watched:
        page = watched.page
        watched.open("/sql")
        ask(page, statement)
        expect(page.locator("#refused")).to_be_visible()
        assert page.locator(".marks mark").inner_text() == marked
        page.click("#refused .go")
        selected = page.evaluate("[statement.selectionStart, statement.selectionEnd]")
        assert statement[slice(*selected)] == marked
        if marked in ("nothing", ","):
            at = statement.rindex(marked)
            assert selected == [at, at + len(marked)]
        page.keyboard.type("x")
        assert page.locator(".marks mark").count() == 0


@pytest.mark.nightly
def test_the_downloads_are_what_the_command_prints(watch: chromium.Watched, told: story.Story) -> None:
    page = watch.page
    columns = "name, count() AS n, [1, 2] AS list, NULL AS x, 'a\"b,\nc' AS t, toUInt64(-1) AS big"
    statement = f"SELECT {columns} FROM transactions GROUP BY name ORDER BY name"
    ask(page, statement)
    saved = {}
    for each in ("csv", "json"):
        with page.expect_download() as download:
            page.click(f"[data-download={each}]")
        assert download.value.suggested_filename == f"walltime.{each}"
        saved[each] = download.value.path().read_text("utf-8")
    assert saved["csv"] == run("sql", statement, "--csv", "--url", told.web_url).stdout
    assert json.loads(saved["json"]) == json.loads(run("sql", statement, "--json", "--url", told.web_url).stdout)


def test_escape_and_leaving_end_the_statement_in_the_database(browser: Browser, told: story.Story) -> None:
    with chromium.watched(browser, told.web_url) as first:
        pages = [first.page, *(first.page.context.new_page() for _ in range(RUN_AT_ONCE - 1))]
        for page in pages:
            page.goto(f"{told.web_url}/sql")
            page.fill("#statement", LONG)
        began_s = time.monotonic()
        for at, page in enumerate(pages):
            page.press("#statement", "Control+Enter")
            expect(page.locator(".cancel")).to_be_visible()
            page.wait_for_timeout(200)
            if at % 2:
                page.click("nav >> text=Advice")
                page.wait_for_url("**/advice*")
            else:
                page.keyboard.press("Escape")
                expect(page.locator("#refused .what")).to_contain_text("Cancelled")
        # otherwise all places would be taken until the statements reach their time limit
        answer = over_http("POST", f"{told.web_url}/api/sql", json={"sql": "SELECT 1"})
        assert answer.status_code == 200
        assert time.monotonic() - began_s < MAX_EXECUTION_S


def test_tab_indents_and_does_not_trap_the_keyboard(watch: chromium.Watched) -> None:
    page = watch.page
    page.fill("#statement", "")
    page.focus("#statement")
    page.keyboard.press("Tab")
    page.keyboard.type("SELECT 1")
    assert page.input_value("#statement") == "    SELECT 1"
    page.keyboard.press("Control+Enter")
    expect(page.locator(".summary strong")).to_have_text("1 row")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "run"


def test_the_address_has_the_statement_and_the_back_button_restores_it(watch: chromium.Watched) -> None:
    page = watch.page
    ask(page, "SELECT 1 AS first")
    ask(page, "SELECT 2 AS second -- a & b")
    shared = page.url
    page.go_back()
    expect(page.locator("#statement")).to_have_value("SELECT 1 AS first")
    ask(page, "SELECT 3")  # the editor works after the view was restored
    expect(page.locator(".summary strong")).to_have_text("1 row")
    page.goto(shared)
    assert page.input_value("#statement") == "SELECT 2 AS second -- a & b"
    assert not page.locator(".result").is_visible()  # a link runs nothing


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_axe_finds_nothing_serious_in_an_answer_and_a_refusal(browser: Browser, told: story.Story, scheme: str) -> None:
    with chromium.watched(browser, told.web_url, scheme=scheme) as watched:
        watched.open("/sql")
        ask(watched.page, "SELECT name, NULL AS n, repeat('long ', 60) AS t FROM transactions LIMIT 5")
        assert watched.serious() == []
        ask(watched.page, "SELECT sleep(1)")
        assert watched.serious() == []


def test_a_phone_has_no_horizontal_scroll_with_a_wide_answer(browser: Browser, told: story.Story) -> None:
    with chromium.watched(browser, told.web_url, size=chromium.PHONE) as watched:
        watched.open("/sql")
        ask(watched.page, "SELECT * FROM transactions LIMIT 3")
        assert watched.overflow_px() == 0
