"""At 1,600 px everything is there: no column off the page, no heading or value cut, no count rounded."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dashboards.conftest import Answer, Grafana
from tests.dashboards.grafana import dashboards, panels
from tests.dashboards.screen import (
    CELL_PADDING_PX,
    DOCKED_MENU_PX,
    FONT_PX,
    HEADING_PADDING_PX,
    NARROW_MENU_PX,
    TABLE_ROW_PX,
    panel_px,
    text_px,
)

DEFAULT_LEAST_PX = 150
"""The width of a column that says nothing about it."""
LONGEST = {
    "ns": ["87.3 µs", "888 ms", "59.9 mins"],
    "locale": ["88,888"],
    "none": ["0.00888", "8888"],
    "percentunit": ["88.88%"],
    "time:MM-DD HH:mm:ss": ["12-28 20:08:00"],
    "time:HH:mm:ss": ["20:08:00"],
}
"""What Grafana writes for a unit; tests/dashboards/test_grafana_data.py asks Grafana's own code."""
COUNTS_WITH_MORE = {"transactions", "calls made", "examined"}


def named(kind: str) -> list[Any]:
    return [
        pytest.param(
            panel, id=f"{uid.removeprefix('walltime-')}: {panel['title'] or panel['targets'][0]['rawSql'][3:40]}"
        )
        for uid, board in dashboards().items()
        for panel in panels(board)
        if panel["type"] == kind
    ]


def looks(panel: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Column → its properties."""
    return {
        rule["matcher"]["options"]: {each["id"]: each["value"] for each in rule["properties"]}
        for rule in panel["fieldConfig"]["overrides"]
    }


def headings(panel: dict[str, Any], answer: Answer) -> list[str]:
    return [name for name in answer.columns if not looks(panel).get(name, {}).get("custom.hidden")]


@pytest.mark.parametrize("panel", named("table"))
def test_the_columns_of_a_table_fit_on_the_page(grafana: Grafana, panel: dict[str, Any]) -> None:
    shown = headings(panel, grafana.ask(panel["targets"][0]["rawSql"]))
    widths = {
        name: look.get("custom.width", look.get("custom.minWidth", DEFAULT_LEAST_PX))
        for name, look in ((name, looks(panel).get(name, {})) for name in shown)
    }
    assert sum(widths.values()) <= panel_px(panel)[0], widths


@pytest.mark.parametrize("panel", named("table"))
def test_no_heading_and_no_number_is_cut(grafana: Grafana, panel: dict[str, Any]) -> None:
    if not panel["options"]["showHeader"]:
        return
    answer = grafana.ask(panel["targets"][0]["rawSql"])
    for name in headings(panel, answer):
        look = looks(panel)[name]
        width_px = look.get("custom.width", look.get("custom.minWidth"))
        assert width_px is not None, name
        assert text_px(name) + HEADING_PADDING_PX <= width_px, name
        if "Int" in answer.columns[name] or "Float" in answer.columns[name] or "DateTime" in answer.columns[name]:
            is_code = look["unit"] == "none" and "Int" in answer.columns[name]
            texts = ["888888"] if is_code else LONGEST[look["unit"]]
            texts = [*texts, *(["8,888,888"] if name in COUNTS_WITH_MORE else [])]
            assert max(map(text_px, texts)) + CELL_PADDING_PX <= width_px, name


@pytest.mark.parametrize("panel", named("table"))
def test_a_table_has_room_for_rows(panel: dict[str, Any]) -> None:
    has_header = panel["options"]["showHeader"]
    assert panel_px(panel)[1] >= TABLE_ROW_PX * (3 if has_header else 1)


@pytest.mark.parametrize("panel", named("table"))
def test_a_sentence_at_the_top_is_not_cut(grafana: Grafana, panel: dict[str, Any]) -> None:
    if not panel["options"]["showHeader"]:
        for chosen in ({}, {"kind": ["GET /nowhere"]}, {"trace_id": "d" * 32}, {"trace_id": "42"}):
            (line,) = grafana.ask(panel["targets"][0]["rawSql"], "4", chosen).column("status")
            assert text_px(line) + CELL_PADDING_PX <= panel_px(panel)[0], line


@pytest.mark.parametrize("menu_px", [NARROW_MENU_PX, DOCKED_MENU_PX])
@pytest.mark.parametrize("panel", named("stat"))
def test_tiles_are_large_and_their_texts_fit(grafana: Grafana, panel: dict[str, Any], menu_px: int) -> None:
    """As Grafana's BigValue lays them out when the sizes are given: the value below the title, not beside it."""
    answer = grafana.ask(panel["targets"][0]["rawSql"])
    size = panel["options"]["text"]
    assert size["titleSize"] >= 12
    assert size["valueSize"] >= 18
    assert panel["options"]["orientation"] == "vertical", "side by side"
    width_px, height_px = panel_px(panel, menu_px)
    tiles = len(answer.columns)
    tile_px = (width_px + 8) / tiles - 8
    assert tile_px / height_px < 2.5, "wider tiles have the value beside the title"
    padding_px = 12 if height_px > 100 else 8
    assert (size["titleSize"] + size["valueSize"]) * 1.2 <= height_px - 2 * padding_px
    for name in answer.columns:
        assert text_px(name, size["titleSize"]) <= tile_px - 2 * padding_px, name
        for text in LONGEST[looks(panel)[name]["unit"]]:
            assert text_px(text, size["valueSize"]) <= tile_px - 2 * padding_px, (name, text)


@pytest.mark.parametrize("panel", [*named("table"), *named("stat")])
def test_every_number_has_a_unit_that_keeps_what_differs(grafana: Grafana, panel: dict[str, Any]) -> None:
    """`short` writes 3,460 and 3,745 as 3 K and 4 K."""
    answer = grafana.ask(panel["targets"][0]["rawSql"])
    for name, kind in answer.columns.items():
        if "Int" in kind or "Float" in kind:
            assert looks(panel)[name]["unit"] in ("ns", "locale", "none", "percentunit"), name


def test_text_is_measured_in_pixels() -> None:
    assert FONT_PX * 0.5 < text_px("0") < FONT_PX
    assert text_px("mm") == 2 * text_px("m")
