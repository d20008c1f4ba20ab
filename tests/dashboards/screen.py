"""How wide and high things are on the screen in Grafana: panels by their place in the grid, texts by their letters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SCREEN_PX = 1600
DOCKED_MENU_PX, NARROW_MENU_PX = 300, 57
"""The menu of Grafana 11 and later on a wide screen; that of 9.4."""
PAGE_PADDING_PX = 2 * 16 + 18
"""With the scroll bar."""
GRID_COLUMNS, ROW_PX, MARGIN_PX = 24, 30, 8
PANEL_PADDING_PX = 2 * 8 + 2
"""With the border."""
TITLE_PX = 32
TABLE_ROW_PX = 36
FONT_PX, LETTER_SPACING_EM = 14, 0.01071
CELL_PADDING_PX = 14
HEADING_PADDING_PX = 18
_DIGITS = {"0": 646, "1": 415, "2": 616, "3": 627, "4": 656, "5": 603, "6": 630, "7": 571, "8": 629, "9": 630}
_SMALL = {
    **{"a": 568, "b": 618, "c": 577, "d": 618, "e": 587, "f": 379, "g": 620, "h": 602, "i": 252, "j": 252, "k": 559},
    **{"l": 252, "m": 888, "n": 602, "o": 604, "p": 618, "q": 618, "r": 387, "s": 539, "t": 340, "u": 602, "v": 575},
    **{"w": 829, "x": 557, "y": 575, "z": 559, "µ": 600},
}
_SIGNS = {" ": 267, ",": 303, ".": 303, "-": 462, "–": 500, ":": 303, "/": 370, "%": 993, "(": 369, ")": 369}
_ADVANCE = {**_DIGITS, **_SMALL, **_SIGNS}
"""Thousandths of an em, of Inter Medium, the font of Grafana's headings; its texts are a little narrower."""


def text_px(text: str, font_px: float = FONT_PX) -> float:
    return sum(_ADVANCE.get(letter, 760) / 1000 + LETTER_SPACING_EM for letter in text) * font_px


def panel_px(panel: Mapping[str, Any], menu_px: int = DOCKED_MENU_PX) -> tuple[float, float]:
    """Width and height inside a panel, below its title."""
    grid_px = SCREEN_PX - menu_px - PAGE_PADDING_PX
    at = panel["gridPos"]
    width_px = (grid_px + MARGIN_PX) / GRID_COLUMNS * at["w"] - MARGIN_PX
    height_px = at["h"] * (ROW_PX + MARGIN_PX) - MARGIN_PX
    return width_px - PANEL_PADDING_PX, height_px - 2 * 8 - (TITLE_PX if panel["title"] else 0)
