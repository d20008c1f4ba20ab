"""The colours of the pages and of `walltime top`: one per family, in shades for the components of a family."""

from __future__ import annotations

import colorsys
import re
from typing import Any

from walltime_collector.cli.drawing.bars import COLOURS
from walltime_collector.query.components import COLUMNS, FRAMEWORK, SYSTEMS, family

FAILED = "#e02f44"
WARNING = "#ff9830"
NEUTRAL = "#5b8fc7"
"""Of no family; it can be read on white and on black."""
OTHERS = "#9aa1ab"
"""Of the series that are folded into one."""
PERCENTILES = {"p50": "#5b9bd5", "p95": "#d99a2b", "p99": "#e0652f"}
APPLICATION = "application"
"""What people read for the family `custom`."""
SPREAD = 0.30
"""How far the lightest shade of a family is from its darkest."""
PALETTE = (
    *("#4e79a7", "#59a14f", "#b07aa1", "#76b7b2", "#d4b22c", "#9c755f"),
    *("#7fa7d6", "#8cd17d", "#c7a0d8", "#499894", "#b8a04a", "#8a8f98"),
)
"""Of things without a colour of their own, by their place; none is that of an alarm."""
PLACE = "\u200b"
"""The names of series begin with so many of these, which nobody sees, as is their place: order and colour follow it."""


def shades() -> dict[str, str]:
    """Component → colour; the families keep their hue, so a glance says which one it is."""
    members: dict[str, list[str]] = {}
    for component in COLUMNS:
        members.setdefault(family(component), []).append(component)
    return {
        component: _lighter(COLOURS[name], SPREAD * (at / max(1, len(components) - 1) - 0.5))
        for name, components in members.items()
        for at, component in enumerate(components)
    }


def by_component() -> list[dict[str, Any]]:
    """
    Rules for series that are named by component or family; a later rule wins.

    Components nobody knows beforehand have the colour of their family, which is the application's unless the name says
    otherwise.
    """
    named = "|".join(map(re.escape, sorted(name for name in FRAMEWORK if family(name) == "framework")))
    families = {
        **{name: rf"{name}(\.|$)" for name in SYSTEMS},
        "framework": rf"(framework|{named})$",
        "view": "(view|middleware)",
        "other": "other$",
    }
    rules = [rule(rf"/(^|[\s{PLACE}]){start}/", COLOURS[name]) for name, start in families.items()]
    rules += [rule(rf"/(^|[\s{PLACE}]){re.escape(name)}$/", colour) for name, colour in shades().items()]
    return [*rules, rule(r"/\(others\)$/", OTHERS)]


def by_place() -> list[dict[str, Any]]:
    """Rules for series that are named by anything else: one colour for each place."""
    places = [rule(f"/^{PLACE}{{{at}}}[^{PLACE}]/", colour) for at, colour in enumerate(PALETTE, start=1)]
    return [*places, rule(r"/\(others\)$/", OTHERS)]


def by_name(colours: dict[str, str]) -> list[dict[str, Any]]:
    """Rules for series whose names are known."""
    return [rule(rf"/(^|\s){re.escape(name)}( |$)/", colour) for name, colour in colours.items()]


def bad(name: str, above: float) -> list[dict[str, Any]]:
    """A rule for the tile of this name: red above this."""
    steps = [{"color": NEUTRAL, "value": None}, {"color": FAILED, "value": above}]
    limits = {"id": "thresholds", "value": {"mode": "absolute", "steps": steps}}
    by_limits = {"id": "color", "value": {"mode": "thresholds"}}
    return [{"matcher": {"id": "byRegexp", "options": rf"/(^|\s){name}( |$)/"}, "properties": [limits, by_limits]}]


def fixed(colour: str) -> dict[str, Any]:
    """The property that gives a series or a column this colour."""
    return {"id": "color", "value": {"mode": "fixed", "fixedColor": colour}}


def rule(regexp: str, colour: str) -> dict[str, Any]:
    """Series with such names in this colour."""
    return {"matcher": {"id": "byRegexp", "options": regexp}, "properties": [fixed(colour)]}


def _lighter(colour: str, by: float) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    lighter = colorsys.hls_to_rgb(hue, min(max(lightness + by, 0.0), 1.0), saturation)
    return "#" + "".join(f"{round(part * 255):02x}" for part in lighter)
