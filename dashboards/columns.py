"""How a column of a table, or a tile, looks: its unit, its width, its colour, where a click on it leads."""

from __future__ import annotations

from collections.abc import Iterable

from grafana_foundation_sdk.models.dashboard import DynamicConfigValue

from .colours import FAILED, NEUTRAL, fixed
from .links import Link

Look = list[DynamicConfigValue]

_FIRST_8 = {"type": "regex", "options": {"pattern": "/^(.{8}).*$/", "result": {"text": "$1", "index": 0}}}
_BAD_NEWS = {"type": "regex", "options": {"pattern": "/^No /", "result": {"color": "orange", "index": 0}}}


def duration(width: int = 82) -> Look:
    """Nanoseconds; Grafana writes three digits and the unit that fits: 87.3 µs, 462 ms, 1.23 s."""
    return [DynamicConfigValue("unit", "ns"), *_width(width)]


def count(width: int = 80) -> Look:
    """A count, with all of its digits: 3,460."""
    return [DynamicConfigValue("unit", "locale"), DynamicConfigValue("decimals", 0), *_width(width)]


def mean(width: int = 80) -> Look:
    """A mean of counts, with three digits: 0.0031, 2.50, 3460."""
    return [DynamicConfigValue("unit", "none"), *_width(width)]


def code(width: int = 68) -> Look:
    """A number that counts nothing: a status, an error number, an id."""
    return [DynamicConfigValue("unit", "none"), *_width(width)]


def moment(width: int = 122) -> Look:
    """A time, to the second, without the year."""
    return [DynamicConfigValue("unit", "time:MM-DD HH:mm:ss"), *_width(width)]


def time_of_day(width: int = 85) -> Look:
    """A time without its date, to the second."""
    return [DynamicConfigValue("unit", "time:HH:mm:ss"), *_width(width)]


def percent(width: int = 82) -> Look:
    """A ratio, 0 to 1, in percent; 0.9999 is not 100."""
    return [DynamicConfigValue("unit", "percentunit"), DynamicConfigValue("decimals", 2), *_width(width)]


def failed(width: int = 73) -> Look:
    """A ratio of failures: three digits, so that 1 of 53,949 is not 0.0; red from 0.1 % on."""
    return bad([DynamicConfigValue("unit", "percentunit"), *_width(width)], above=0.001)


def bar(width: int = 110) -> Look:
    """A ratio as a bar, the full width being 100 %."""
    return [
        DynamicConfigValue("unit", "percentunit"),
        DynamicConfigValue("decimals", 1),
        *_width(width),
        DynamicConfigValue("min", 0),
        DynamicConfigValue("max", 1),
        fixed(NEUTRAL),
        # Grafana before 9.5 reads the first, later ones the second; neither minds the other
        DynamicConfigValue("custom.displayMode", "basic"),
        DynamicConfigValue("custom.cellOptions", {"type": "gauge", "mode": "basic"}),
    ]


def bad(look: Look, above: float = 0) -> Look:
    """Red as soon as it is above this."""
    steps = [{"color": "text", "value": None}, {"color": FAILED, "value": above + 1e-9}]
    return [
        *look,
        DynamicConfigValue("thresholds", {"mode": "absolute", "steps": steps}),
        DynamicConfigValue("color", {"mode": "thresholds"}),
        DynamicConfigValue("custom.displayMode", "color-text"),
        DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
    ]


def text(width: int) -> Look:
    """Text of about this width."""
    return _width(width)


def rest(least: int = 110) -> Look:
    """Text that gets the room that is left."""
    return [DynamicConfigValue("custom.minWidth", least)]


def long_text(least: int = 200) -> Look:
    """Text that gets the room that is left; a click shows all of it."""
    return [*rest(least), DynamicConfigValue("custom.inspect", True)]


def link(to: Link, least: int = 130) -> Look:
    """A cell that leads somewhere and gets the room that is left."""
    return [DynamicConfigValue("links", [to]), *rest(least)]


def trace_id(to: Link, width: int = 78) -> Look:
    """A trace id that leads to its transaction: the cell shows 8 of its 32 digits, the link has all."""
    return [DynamicConfigValue("links", [to]), DynamicConfigValue("mappings", [_FIRST_8]), *_width(width)]


def message() -> Look:
    """A sentence; one that begins with "No" is orange."""
    return [
        DynamicConfigValue("mappings", [_BAD_NEWS]),
        DynamicConfigValue("custom.displayMode", "color-text"),
        DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
    ]


def hidden() -> Look:
    """Not shown; links of the same row can use it."""
    return [DynamicConfigValue("custom.hidden", True)]


def coloured(look: Look, colour: str) -> Look:
    """In this colour."""
    return [*look, fixed(colour)]


def all_of(names: Iterable[str], look: Look) -> dict[str, Look]:
    """The same look for several columns."""
    return dict.fromkeys(names, look)


def _width(width: int) -> Look:
    return [DynamicConfigValue("custom.width", width)]
