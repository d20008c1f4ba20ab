"""The few shapes of panel our dashboards are made of: a query with its words, and how it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from walltime_collector.cli.drawing.bars import COLOURS

from .colours import FAILED, NEUTRAL, OTHERS, PERCENTILES, WARNING, bad, by_component, by_name, by_place
from .columns import Column, overrides
from .links import to_kind_of_series
from .source import SOURCE, STEP_S, Format, chosen, columns, target, words

Panel = dict[str, Any]

NO_VALUE = "–"
"""In a tile. Not for tables and lines: Grafana would write it into every empty cell."""
MIN_INTERVAL = f"{STEP_S}s"
"""Points are not closer than this; queries/_points.sql makes them wider where transactions are few."""
LEGEND_PX = {12: 276, 16: 310}
"""Of a legend at the right, by the least width of the panel: a name, mean and max."""
_LOG = {"type": "log", "log": 10}
_LINK_OF_KINDS = {
    # (others) has no board; Grafana 12 adds links, a later rule takes none away
    "matcher": {"id": "byRegexp", "options": r"/^(?!.*\(others\)$)/"},
    "properties": [{"id": "links", "value": [to_kind_of_series()]}],
}
_KNOWN = {
    "failed": FAILED,
    "errors": FAILED,
    "cpu": "#59a14f",
    "cpu wait": "#d4b22c",
    "queue": "#b07aa1",
    **{"stored": "#59a14f", "lost": FAILED, "dead": WARNING, "rejected": "#d4b22c", "refused": "#b07aa1"},
    **{"slow": WARNING, "critical": FAILED, "warning": WARNING, "before": OTHERS},
    **PERCENTILES,
}
"""Series that are columns of their own; others are NEUTRAL."""


def stacked(query: str, width: int = 24, *, unit: str = "ns", by: str = "component", legend_px: int = 0) -> Panel:
    """
    Areas upon each other, one for each value of the column `by`; the sum means something.

    Never of failures: eleven among thousands would outline everything in red.

    Args:
        legend_px: Its width, where names are longer than usual.
    """
    # A border around stacked areas would draw a line for each series that is 0, on top of the others.
    drawn = {"lineWidth": 0, "pointSize": 2, "fillOpacity": 85, "stacking": {"mode": "normal", "group": "A"}}
    panel = _over_time(query, width, unit, by, drawn)
    if legend_px:
        panel["options"]["legend"]["width"] = legend_px
    return panel


def lines(query: str, width: int = 24, *, unit: str = "ns", by: str = "", is_log: bool = False) -> Panel:
    """
    A line for each value of the column `by`, or for each column.

    Args:
        is_log: Ten times more is one step up, so that a cache and a database are seen side by side.
    """
    drawn = {"lineWidth": 1, "fillOpacity": 0, **({"scaleDistribution": _LOG} if is_log else {})}
    return _over_time(query, width, unit, by, drawn)


def bars(query: str, width: int = 24, *, unit: str = "short", by: str = "") -> Panel:
    """Bars from 0; where the query has a column `failed`, in red beside the others, never upon them."""
    return _over_time(query, width, unit, by, {"drawStyle": "bars", "lineWidth": 0, "fillOpacity": 80})


def heat(query: str, width: int = 24) -> Panel:
    """How many transactions took how long: the query has a time, a class of durations (`took`) and a count."""
    options = {
        "calculate": False,
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Blues", "steps": 32, "exponent": 0.4, "reverse": False, "fill": NEUTRAL},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "ge", "value": "transactions"},
        "tooltip": {"show": True, "mode": "single", "yHistogram": False},
        "yAxis": {"axisPlacement": "left", "reverse": False, "unit": "ns"},
    }
    defaults = {"displayName": "${__field.labels.took}", "custom": {"hideFrom": _hidden_from()}}
    return _panel("heatmap", query, width, Format.TIME_SERIES, options, defaults) | {"interval": MIN_INTERVAL}


def tiles(query: str, units: Mapping[str, str]) -> Panel:
    """
    Big numbers side by side, each with its course and the change against the time before.

    The query has a row for each point and tile: `time`, `place`, `tile` and `value`; the last value is the one shown.
    A tile's name may go on after a space: with the change.
    """
    options = {
        "colorMode": "value",
        "graphMode": "area",
        "justifyMode": "auto",
        "orientation": "vertical",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        # By default Grafana chooses the sizes by the longest text, and may put the tiles into several rows.
        "text": {"titleSize": 13, "valueSize": 26},
        "textMode": "value_and_name",
    }
    defaults = {
        "color": {"mode": "fixed", "fixedColor": NEUTRAL},
        "displayName": "${__field.labels.tile}",
        "fieldMinMax": True,  # each course has a scale of its own; Grafana before 10.1 has one for all tiles
        "noValue": NO_VALUE,
        "unit": "none",
    }
    rules = [
        {
            "matcher": {"id": "byRegexp", "options": rf"/(^|\s){name}( |$)/"},
            "properties": [{"id": "unit", "value": unit}],
        }
        for name, unit in units.items()
    ]
    # without a title there is room for the courses
    panel = _panel("stat", query, 24, Format.TIME_SERIES, options, defaults, [*rules, *bad("failed", above=0.001)])
    return panel | {"title": "", "interval": MIN_INTERVAL, "maxDataPoints": 120}


def rows(query: str, width: int = 24, **special: Column) -> Panel:
    """
    A table of the columns that the query calls `AS "…"`, in its order; columns.COLUMNS says how they look.

    Args:
        special: Looks that only this table has; `per_call` is of the column `per call`.
    """
    looks = overrides(columns(query), {name.replace("_", " "): look for name, look in special.items()})
    options = {"cellHeight": "sm", "footer": {"show": False, "reducer": []}, "showHeader": True}
    defaults = {"color": {"mode": "fixed", "fixedColor": "text"}, "custom": {"align": "auto"}, "unit": "none"}
    return _panel("table", query, width, Format.TABLE, options, defaults, looks)


def status(query: str = "status", **special: Column) -> Panel:
    """One line at the top: what is shown, or why nothing is and what to do."""
    panel = rows(query, 24, **special)
    panel["options"]["showHeader"] = False
    return panel | {"title": "", "transparent": True}


def text(markdown: str, width: int = 24, title: str = "") -> Panel:
    """Words without a query."""
    return _place(width) | {
        "type": "text",
        "title": title,
        "transparent": not title,
        "options": {"mode": "markdown", "content": markdown},
    }


def trace(query: str) -> Panel:
    """Grafana's own picture of a trace; the query has one column of JSON, `span`."""
    panel = _panel("traces", query, 24, Format.TRACE, {}, {})
    extract = {"id": "extractFields", "options": {"source": "span", "format": "json", "replace": True}}
    return panel | {"transformations": [extract]}


def _over_time(query: str, width: int, unit: str, by: str, drawn: dict[str, Any]) -> Panel:
    custom = {
        "axisBorderShow": False,
        "drawStyle": "line",
        "lineInterpolation": "linear",
        "pointSize": 4,
        "showPoints": "auto",
        # A line is not drawn across a point without transactions: the next one would seem to have been reached slowly.
        "spanNulls": False,
        "stacking": {"mode": "none", "group": "A"},
        **drawn,
    }
    # `place` comes first: the plugin's server puts the series in its order, and the colours are by it
    shown = {"displayName": f"${{__field.labels.place}}${{__field.labels.{by}}}"} if by else {}
    least = {} if "scaleDistribution" in drawn else {"min": 0}
    colour = COLOURS["custom"] if by in ("component", "family") else NEUTRAL
    defaults = {"color": {"mode": "fixed", "fixedColor": colour}, "custom": custom, "unit": unit, **shown, **least}
    if unit == "percentunit":
        custom["axisSoftMax"] = 0.01  # nothing but 0 would have an axis up to 10000 %
    wide = [px for least, px in LEGEND_PX.items() if width >= least][-1:]
    legend = {
        "calcs": ["mean", "max"],
        "displayMode": "table" if wide else "list",
        "placement": "right" if wide else "bottom",
        "showLegend": True,
        **({"width": wide[0]} if wide else {}),
    }
    options = {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}
    colours = by_component() if by in ("component", "family") else by_place() if by else by_name(_KNOWN)
    rules = [*colours, *([_LINK_OF_KINDS] if by == "kind" else [])]
    return _panel("timeseries", query, width, Format.TIME_SERIES, options, defaults, rules) | {"interval": MIN_INTERVAL}


def _panel(
    shape: str,
    query: str,
    width: int,
    form: Format,
    options: dict[str, Any],
    defaults: dict[str, Any],
    rules: list[dict[str, Any]] | None = None,
) -> Panel:
    title, about = words(query)
    # of series the name goes on with labels
    only = f"/^([tT]ime|{'|'.join(drawn)})( \\{{.*)?$/" if (drawn := chosen(query)) else ""
    filtered = {"id": "filterFieldsByName", "options": {"include": {"pattern": only}}}
    return _place(width) | {
        "type": shape,
        "title": title,
        "description": about,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": rules or []},
        "options": options,
        "targets": [target(query, form)],
        **({"transformations": [filtered]} if only else {}),
    }


def _place(width: int) -> Panel:
    return {"gridPos": {"w": width}}


def _hidden_from() -> dict[str, bool]:
    return {"legend": False, "tooltip": False, "viz": False}
