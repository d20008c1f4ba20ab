"""The colours of `walltime top`, one per family, in shades for the components of a family."""

from __future__ import annotations

import colorsys
import re

from grafana_foundation_sdk.models.dashboard import DashboardFieldConfigSourceOverrides as Override
from grafana_foundation_sdk.models.dashboard import DynamicConfigValue, MatcherConfig
from walltime_collector.cli.drawing.bars import COLOURS
from walltime_collector.query.components import COLUMNS, family

SPREAD = 0.30
"""How far the lightest shade of a family is from its darkest."""
FAILED = "#e02f44"
NEUTRAL = "#8ab8ff"
"""Of no family."""


def built_in_components() -> list[str]:
    """The components that have columns of their own, in the schema's order."""
    return list(COLUMNS)


def shades() -> dict[str, str]:
    """Component → colour; the families keep their hue, so a glance says which one it is."""
    members: dict[str, list[str]] = {}
    for component in built_in_components():
        members.setdefault(family(component), []).append(component)
    return {
        component: _lighter(COLOURS[name], SPREAD * (at / max(1, len(components) - 1) - 0.5))
        for name, components in members.items()
        for at, component in enumerate(components)
    }


def by_component() -> list[Override]:
    """
    Colours for series that are named by component; a later rule wins.

    Components nobody knows beforehand have the colour of their family, which is that of the application's own unless
    the name says otherwise. A series may be called "ms mysql.query" or "mysql.query": the plugin puts the column first.
    """
    families = {
        "framework": r"(template\.render|serialize|orm\.compile|orm\.load|session|auth)$",
        "http": r"http\.",
        "memcache": r"memcache\.",
        "mysql": r"mysql\.",
        "other": "other$",
        "python": r"python\.",
        "redis": r"redis\.",
        "view": "(view|middleware)$",
    }
    rules = [_colour(rf"/(^|\s){prefix}/", COLOURS[name]) for name, prefix in families.items()]
    return rules + [_colour(rf"/(^|\s){re.escape(name)}$/", colour) for name, colour in shades().items()]


def fixed(colour: str) -> DynamicConfigValue:
    """The property that gives a series or a column this colour."""
    return DynamicConfigValue("color", {"mode": "fixed", "fixedColor": colour})


def series(name: str, colour: str) -> Override:
    """The series of this name in this colour."""
    return Override(MatcherConfig("byName", name), [fixed(colour)])


def failed_series() -> Override:
    """The series `failed` in red, with a line, so that one failure among thousands is seen."""
    return Override(MatcherConfig("byName", "failed"), [fixed(FAILED), DynamicConfigValue("custom.lineWidth", 2)])


def _colour(regexp: str, colour: str) -> Override:
    return Override(MatcherConfig("byRegexp", regexp), [fixed(colour)])


def _lighter(colour: str, by: float) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    lighter = colorsys.hls_to_rgb(hue, min(max(lightness + by, 0.0), 1.0), saturation)
    return "#" + "".join(f"{round(part * 255):02x}" for part in lighter)
