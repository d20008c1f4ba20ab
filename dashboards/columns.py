"""How a column of a table, or a tile, looks: its unit, its width, its colour, where a click on it leads."""

from __future__ import annotations

from collections.abc import Iterable

from grafana_foundation_sdk.models.dashboard import DynamicConfigValue

from .colours import FAILED, NEUTRAL, fixed
from .links import Link

Look = list[DynamicConfigValue]


def ms(width: int = 85) -> Look:
    """Milliseconds; Grafana writes 1234 as 1.23 s."""
    return [DynamicConfigValue("unit", "ms"), *_width(width)]


def number(decimals: int = 0, width: int = 85) -> Look:
    """A count, or with decimals a mean of counts."""
    return [DynamicConfigValue("unit", "short"), DynamicConfigValue("decimals", decimals), *_width(width)]


def percent(width: int = 75) -> Look:
    """A ratio, 0 to 1, in percent."""
    return [DynamicConfigValue("unit", "percentunit"), DynamicConfigValue("decimals", 1), *_width(width)]


def bar(width: int = 130) -> Look:
    """A ratio as a bar, the full width being 100 %."""
    return [
        *percent(width),
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


def long_text() -> Look:
    """Text that gets the room that is left; a click shows all of it."""
    return [DynamicConfigValue("custom.minWidth", 250), DynamicConfigValue("custom.inspect", True)]


def link(to: Link, width: int | None = None) -> Look:
    """A cell that leads somewhere."""
    return [DynamicConfigValue("links", [to]), *(_width(width) if width else [])]


def coloured(look: Look, colour: str) -> Look:
    """In this colour."""
    return [*look, fixed(colour)]


def all_of(names: Iterable[str], look: Look) -> dict[str, Look]:
    """The same look for several columns."""
    return dict.fromkeys(names, look)


def _width(width: int) -> Look:
    return [DynamicConfigValue("custom.width", width)]
