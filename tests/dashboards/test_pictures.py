"""Every board, drawn by Grafana's own code in Chromium: nothing fails, is empty, cut or off the page; by night."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import sync_playwright

from tests.browser import chromium
from tests.dashboards.conftest import Grafana
from tests.dashboards.grafana import dashboards
from tests.dashboards.npm import NoNodeError
from tests.dashboards.pictures.bundle import bundled
from tests.dashboards.pictures.page import Drawing, Theme, drawing

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

BOARDS = dashboards()
UNMENDED = {"walltime-response-time", "walltime-transaction"}
"""Boards of issue 34 with legends, headings and trace ids that are cut. What mends one takes it out."""


@pytest.fixture(scope="module")
def drawn(grafana: Grafana) -> Iterator[Drawing]:
    try:
        bundled()
    except NoNodeError as missing:
        pytest.skip(str(missing))
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        with drawing(browser, grafana) as page:
            yield page
        browser.close()


@pytest.mark.parametrize(
    ("theme", "width", "is_old_table"),
    [("light", 1600, False), ("dark", 1600, True), ("light", 1280, True), ("dark", 1280, False)],
)
@pytest.mark.parametrize(
    "uid",
    [
        pytest.param(uid, marks=pytest.mark.xfail(strict=True, reason="issue 34") if uid in UNMENDED else ())
        for uid in BOARDS
    ],
)
def test_a_person_sees_all_of_the_board(drawn: Drawing, uid: str, theme: Theme, width: int, is_old_table: bool) -> None:
    drawn.is_old_table = is_old_table
    drawn.draw(BOARDS[uid], theme, width, {})
    assert drawn.problems() == []


def test_what_is_wrong_is_seen(drawn: Drawing) -> None:
    board = BOARDS["walltime-response-time"]
    (bill,) = (panel for panel in board["panels"] if panel["title"].startswith("The bill"))
    at = {"x": 0, "y": 0, "h": 8}
    narrow = {**bill, "id": 1, "gridPos": {**at, "w": 4}}
    (query,) = bill["targets"]
    failing = {
        **bill,
        "id": 2,
        "title": "Failing",
        "gridPos": {**at, "x": 4, "w": 8},
        "targets": [{**query, "rawSql": "SELECT nothing"}],
    }
    empty = {**failing, "id": 3, "title": "Empty", "gridPos": {**at, "x": 12, "w": 8}}
    empty["targets"] = [{**query, "rawSql": "SELECT 1 AS one WHERE 0"}]
    outside = {**bill, "id": 4, "title": "Outside", "gridPos": {**at, "x": 20, "w": 12}}
    drawn.draw({**board, "panels": [narrow, failing, empty, outside]}, "light", 1600, {})
    seen = "\n".join(drawn.problems())
    for fault in (
        "its title is cut",
        "px wider than the panel",
        "Failing: error: ",
        "Empty: No data",
        "Outside: is wider",
    ):
        assert fault in seen
