"""Every board, drawn by Grafana's own code in Chromium: nothing fails, is empty, cut or off the page; by night."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser import chromium
from tests.dashboards.conftest import Grafana
from tests.dashboards.grafana import dashboards
from tests.dashboards.npm import NoNodeError
from tests.dashboards.pictures.bundle import bundled
from tests.dashboards.pictures.page import Drawing, Theme, drawing
from tests.dashboards.pictures.stored import stored

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

BOARDS = dashboards()
EMPTY = {"Lines of the application where no call was measured"}
"""Panels for which the shop runs too shortly here: samples of the application."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        bundled()
    except NoNodeError as missing:
        pytest.skip(str(missing))
    with sync_playwright() as playwright:
        running = chromium.launch(playwright)
        yield running
        running.close()


@pytest.fixture(scope="module")
def drawn(browser: Browser, grafana: Grafana) -> Iterator[Drawing]:
    with drawing(browser, grafana) as page:
        yield page


@pytest.mark.parametrize(
    ("theme", "width", "is_old_table"),
    [("light", 1600, False), ("dark", 1600, True), ("light", 1280, True), ("dark", 1280, False)],
)
@pytest.mark.parametrize("uid", BOARDS)
def test_a_person_sees_all_of_the_board(drawn: Drawing, uid: str, theme: Theme, width: int, is_old_table: bool) -> None:
    drawn.is_old_table = is_old_table
    drawn.draw(BOARDS[uid], theme, width, {})
    assert set(drawn.problems()) <= {f"{title}: No data" for title in EMPTY}


def test_boards_of_an_empty_database_fail_nowhere(browser: Browser) -> None:
    with stored("empty", 0) as grafana, drawing(browser, grafana) as page:
        for board in BOARDS.values():
            page.draw(board, "light", 1600, {})
            assert page.problems(is_empty_allowed=True) == []


def test_what_is_wrong_is_seen(drawn: Drawing) -> None:
    def table(title: str, x: int, w: int, sql: str) -> dict[str, Any]:
        target = {"refId": "A", "format": 1, "rawSql": sql}
        at = {"x": x, "y": 0, "w": w, "h": 8}
        fields = {"defaults": {"custom": {"width": 110}}, "overrides": []}
        return {
            "id": x,
            "type": "table",
            "title": title,
            "gridPos": at,
            "fieldConfig": fields,
            "options": {},
            "targets": [target],
        }

    columns = "SELECT 1 AS transactions_per_second, repeat('0123', 2) AS id, 3 AS c"
    panels = [
        table("A title for which there is no room", 0, 3, columns),
        table("Failing", 4, 8, "SELECT nothing"),
        table("Empty", 12, 8, "SELECT 1 AS one WHERE 0"),
        table("Outside", 20, 12, columns),
    ]
    drawn.draw({"title": "Faults", "templating": {"list": []}, "panels": panels}, "light", 1600, {})
    seen = "\n".join(drawn.problems())
    for fault in (
        "title is cut",
        "per_second” is cut",
        "wider than the panel",
        "Failing: error:",
        "Empty: No data",
        "Outside: is wider",
    ):
        assert fault in seen
