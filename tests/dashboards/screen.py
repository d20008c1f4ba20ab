"""How wide and high things are on the screen in Grafana: panels by their place in the grid, texts by their letters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DOCKED_MENU_PX, NARROW_MENU_PX = 300, 57
"""The menu of Grafana 11 and later from 1,440 px on; that of 9.5, also beside narrow screens."""
SCREENS = ((1600, DOCKED_MENU_PX), (1280, NARROW_MENU_PX))
"""The widths boards are made for, with the wider menu that Grafana shows there."""
PAGE_PADDING_PX = 2 * 16 + 18
"""With the scroll bar."""
GRID_COLUMNS, ROW_PX, MARGIN_PX = 24, 30, 8
PANEL_PADDING_PX = 2 * 8 + 2
"""With the border."""
TITLE_PX = 32
TABLE_ROW_PX = 36
CELL_PADDING_PX = 14
HEADING_PADDING_PX = 18
LEGEND_FONT_PX, LEGEND_PADDING_PX, LEGEND_ICON_PX = 12, 16, 22
"""A row of a legend's table: its font, the padding of a cell, the colour before the name."""


def panel_px(panel: Mapping[str, Any], screen_px: int = 1600, menu_px: int = DOCKED_MENU_PX) -> tuple[float, float]:
    """Width and height inside a panel, below its title."""
    grid_px = screen_px - menu_px - PAGE_PADDING_PX
    at = panel["gridPos"]
    width_px = (grid_px + MARGIN_PX) / GRID_COLUMNS * at["w"] - MARGIN_PX
    height_px = at["h"] * (ROW_PX + MARGIN_PX) - MARGIN_PX
    return width_px - PANEL_PADDING_PX, height_px - 2 * 8 - (TITLE_PX if panel["title"] else 0)
