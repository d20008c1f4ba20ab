"""At 1,600 and 1,280 px everything is there: no column off the page, no heading, value, legend or sentence cut."""

from __future__ import annotations

from typing import Any

import pytest

from dashboards.inter import FONT_PX, text_px
from tests.dashboards.conftest import Answer, Grafana
from tests.dashboards.grafana import every_panel, looks, panels_by_day
from tests.dashboards.screen import (
    CELL_PADDING_PX,
    HEADING_PADDING_PX,
    LEGEND_FONT_PX,
    LEGEND_ICON_PX,
    LEGEND_PADDING_PX,
    SCREENS,
    TABLE_ROW_PX,
    panel_px,
)

LONGEST = {
    "ns": ["87.3 µs", "888 ms", "8.88 mins"],
    "locale": ["88,888"],
    "none": ["0.000888", "8888"],
    "percentunit": ["0.00888%", "-88%"],
    "reqps": ["888 req/s"],
    "ops": ["888 ops/s"],
    "short": ["8.88 K"],
    "time:MM-DD HH:mm:ss": ["12-28 20:08:00"],
    "time:HH:mm:ss": ["20:08:00"],
    "time:[It began] MMM D, HH:mm:ss": ["It began Nov 28, 20:08:00"],
    "bytes": ["1,023 KiB"],
    "time:[The last one began] MMM D, HH:mm:ss": ["The last one began Dec 28, 20:08:00"],
}
"""What Grafana writes for a unit; tests/dashboards/test_grafana_data.py asks Grafana's own code."""
COUNTS_WITH_MORE = {"transactions", "calls made", "examined"}
each_screen = pytest.mark.parametrize(("screen_px", "menu_px"), SCREENS)


def width_px(look: dict[str, Any]) -> float:
    return float(look["custom.width" if "custom.width" in look else "custom.minWidth"])


def shown(panel: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: look for name, look in looks(panel).items() if not look.get("custom.hidden")}


@each_screen
@pytest.mark.parametrize("panel", every_panel("table"))
def test_the_columns_of_a_table_fill_the_panel_and_fit(panel: dict[str, Any], screen_px: int, menu_px: int) -> None:
    columns = shown(panel)
    assert sum(map(width_px, columns.values())) <= panel_px(panel, screen_px, menu_px)[0], columns.keys()
    assert any("custom.minWidth" in look for look in columns.values()) or panel["gridPos"]["w"] <= 12


@pytest.mark.parametrize("panel", panels_by_day("table"))
def test_no_heading_and_no_number_is_cut(grafana: Grafana, panel: dict[str, Any]) -> None:
    answer = grafana.ask_panel(panel)
    for name, look in shown(panel).items():
        if panel["options"]["showHeader"]:
            assert text_px(name) + HEADING_PADDING_PX <= width_px(look), name
        for text in longest(name, look, answer):
            assert text_px(text) + CELL_PADDING_PX <= width_px(look), (name, text)


def longest(name: str, look: dict[str, Any], answer: Answer) -> list[str]:
    kind = answer.columns[name]
    if not any(part in kind for part in ("Int", "Float", "DateTime")):
        return []
    assert "unit" in look, f"{name}: a number without a unit is written as 3 K"
    is_code = look["unit"] == "none" and "Int" in kind
    is_whole_percent = look["unit"] == "percentunit" and look.get("decimals") == 0
    texts = ["888888"] if is_code else ["-8,888%"] if is_whole_percent else LONGEST[look["unit"]]
    return [*texts, *(["8,888,888"] if name in COUNTS_WITH_MORE else [])]


@pytest.mark.parametrize("panel", every_panel("table"))
def test_a_table_has_room_for_rows(panel: dict[str, Any]) -> None:
    assert panel_px(panel)[1] >= TABLE_ROW_PX * (2 if panel["options"]["showHeader"] else 1)


@each_screen
@pytest.mark.parametrize("panel", panels_by_day("timeseries"))
def test_a_legend_has_room_for_names_and_numbers_and_leaves_room_for_the_chart(
    grafana: Grafana, panel: dict[str, Any], screen_px: int, menu_px: int
) -> None:
    legend = panel["options"]["legend"]
    room_px, _ = panel_px(panel, screen_px, menu_px)
    if legend["displayMode"] != "table":
        return
    assert legend["calcs"] == ["mean", "max"]
    assert legend["width"] <= room_px * 0.5
    answer = grafana.ask_panel(panel)
    label = panel["fieldConfig"]["defaults"].get("displayName", "").rpartition(".")[2].rstrip("}")
    if label not in ("component", "family", ""):
        return  # the names of kinds and servers may be longer than any panel; Grafana ends them with dots
    names = answer.column(label) if label else list(answer.columns)[1:]
    numbers_px = sum(
        max(map(text_at_12_px, [*LONGEST[panel["fieldConfig"]["defaults"]["unit"]], head])) for head in ("Mean", "Max")
    )
    assert max(map(text_at_12_px, names)) + LEGEND_ICON_PX + numbers_px + 3 * LEGEND_PADDING_PX <= legend["width"]


def text_at_12_px(text: str) -> float:
    return text_px(text, LEGEND_FONT_PX)


@each_screen
@pytest.mark.parametrize("panel", every_panel("table"))
def test_a_sentence_at_the_top_is_not_cut(
    grafana: Grafana, panel: dict[str, Any], screen_px: int, menu_px: int
) -> None:
    if panel["options"]["showHeader"]:
        return
    beside_px = sum(width_px(look) for name, look in shown(panel).items() if name != "sentence")
    for chosen in ({}, {"kind": ["GET /nowhere"]}, {"trace_id": "d" * 32}, {"trace_id": "42"}):
        (line,) = grafana.ask_panel(panel, "4", chosen).column("sentence")
        assert text_px(line) + CELL_PADDING_PX <= panel_px(panel, screen_px, menu_px)[0] - beside_px, line


@each_screen
@pytest.mark.parametrize("panel", every_panel("stat"))
def test_tiles_are_large_and_their_texts_fit(
    grafana: Grafana, panel: dict[str, Any], screen_px: int, menu_px: int
) -> None:
    """As Grafana's BigValue lays them out when the sizes are given: the value below the title, the course below it."""
    answer = grafana.ask_panel(panel)
    size = panel["options"]["text"]
    assert panel["options"]["orientation"] == "vertical", "side by side"
    room_px, height_px = panel_px(panel, screen_px, menu_px)
    tiles = {tile.partition(" ")[0]: tile for tile in answer.column("tile")}
    tile_px = (room_px + 8) / len(tiles) - 8
    assert tile_px / height_px < 2.5, "wider tiles have the value beside the title"
    assert height_px > 100, "lower tiles have no course"
    units = {pattern: look["unit"] for pattern, look in looks(panel).items() if "unit" in look}
    for name, tile in tiles.items():
        changed = tile if tile != name else f"{name} +888 %"
        assert text_px(changed, size["titleSize"]) <= tile_px - 24, name
        unit = next((unit for pattern, unit in units.items() if f"){name}(" in pattern), "none")
        for text in LONGEST[unit]:
            assert text_px(text, size["valueSize"]) <= tile_px - 24, (name, text)


def test_text_is_measured_in_pixels() -> None:
    assert FONT_PX * 0.5 < text_px("0") < FONT_PX
    assert text_px("mm") == 2 * text_px("m")
