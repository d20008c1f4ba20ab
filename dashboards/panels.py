"""The few shapes of panel our dashboards are made of, so that all of them look and behave alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.builders import common, dashboard, stat, table, timeseries
from grafana_foundation_sdk.models import common as models
from grafana_foundation_sdk.models.dashboard import DashboardFieldConfigSourceOverrides as Override
from grafana_foundation_sdk.models.dashboard import (
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    MatcherConfig,
)
from walltime_collector.cli.drawing.bars import COLOURS

from .colours import by_component
from .columns import message
from .source import SOURCE, Format, Query

NO_VALUE = "–"
"""In a tile. Not for tables and lines: Grafana would write it into every empty cell."""
MIN_INTERVAL = "10s"
"""Points are not closer than this: a busier line says nothing more."""
SPAN_NULLS_MS = 31_000
"""
A line crosses NULLs for less than this, two intervals of 10 s, so that a service with few requests has lines.

A longer time without data is a gap. Longer intervals, of longer time ranges, are never crossed.
"""


def lines(
    query: str,
    title: str,
    description: str,
    *,
    width: int,
    height: int = 8,
    unit: str = "short",
    series: str = "",
    is_stacked: bool = False,
    overrides: Sequence[Override] = (),
    most: float | None = None,
    is_log: bool = False,
) -> timeseries.Panel:
    """
    Something over time.

    Args:
        series: The query's text column: one series per value, which is its name; without it each column is a series.
        is_stacked: Areas upon each other instead of lines.
        most: Where the axis ends.
        is_log: Ten times more is one step up, so that a cache and a database are seen side by side.
    """
    panel = timeseries.Panel()
    panel.title(title)
    panel.description(description)
    panel.datasource(SOURCE)
    panel.with_target(Query(query, Format.TIME_SERIES))
    panel.span(width)
    panel.height(height)
    panel.interval(MIN_INTERVAL)
    panel.unit(unit)
    if is_log:
        panel.scale_distribution(common.ScaleDistributionConfig().type(models.ScaleDistribution.LOG).log(10))
    else:
        panel.min(0)
    if most is not None:
        panel.max(most)
    if series:
        panel.display_name(f"${{__field.labels.{series}}}")
    panel.color_scheme(dashboard.FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC))
    # A border around stacked areas would draw a line for each series that is 0, on top of the others.
    panel.line_width(0 if is_stacked else 1)
    panel.fill_opacity(80 if is_stacked else 8)
    panel.show_points(models.VisibilityMode.AUTO)
    panel.span_nulls(SPAN_NULLS_MS)
    if is_stacked:
        panel.stacking(common.StackingConfig().mode(models.StackingMode.NORMAL).group("A"))
    panel.tooltip(common.VizTooltipOptions().mode(models.TooltipDisplayMode.MULTI).sort(models.SortOrder.DESCENDING))
    panel.legend(
        common.VizLegendOptions()
        .display_mode(models.LegendDisplayMode.LIST)
        .placement(models.LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs([])
    )
    _override(panel, overrides)
    return panel


def components(
    query: str,
    title: str,
    description: str,
    *,
    width: int,
    height: int = 8,
    unit: str = "short",
    is_stacked: bool = False,
    is_log: bool = False,
) -> timeseries.Panel:
    """Components over time, in their colours; what the application named itself is in the colour of its family."""
    panel = lines(
        query,
        title,
        description,
        width=width,
        height=height,
        unit=unit,
        series="component",
        is_stacked=is_stacked,
        is_log=is_log,
        overrides=by_component(),
    )
    panel.color_scheme(dashboard.FieldColor().mode(FieldColorModeId.FIXED).fixed_color(COLOURS["custom"]))
    return panel


def status(query: str) -> table.Panel:
    """One line of text at the top: what is shown, or why nothing is and what to do."""
    panel = rows(query, "", "What is shown, or why there is nothing, and what to do.", {"status": message()}, height=2)
    panel.show_header(False)
    return panel


def tiles(
    query: str,
    title: str,
    description: str,
    columns: Mapping[str, Sequence[DynamicConfigValue]],
    *,
    value_px: int = 26,
) -> stat.Panel:
    """The query's one row, a big number per column, side by side."""
    panel = stat.Panel()
    panel.title(title)
    panel.description(description)
    panel.datasource(SOURCE)
    panel.with_target(Query(query, Format.TABLE))
    panel.span(24)
    panel.height(4)
    panel.unit("none")
    panel.no_value(NO_VALUE)
    panel.color_scheme(dashboard.FieldColor().mode(FieldColorModeId.FIXED).fixed_color("text"))
    panel.color_mode(models.BigValueColorMode.VALUE)
    panel.graph_mode(models.BigValueGraphMode.NONE)
    panel.text_mode(models.BigValueTextMode.VALUE_AND_NAME)
    # By default Grafana chooses the sizes by the longest text, and may put the tiles into several rows.
    panel.text(common.VizTextDisplayOptions().title_size(13).value_size(value_px))
    panel.orientation(models.VizOrientation.VERTICAL)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False))
    _override(panel, _by_name(columns))
    return panel


def rows(
    query: str,
    title: str,
    description: str,
    columns: Mapping[str, Sequence[DynamicConfigValue]],
    *,
    width: int = 24,
    height: int = 9,
) -> table.Panel:
    """A table, in the order of the query; `columns` says how they look."""
    panel = table.Panel()
    panel.title(title)
    panel.description(description)
    panel.datasource(SOURCE)
    panel.with_target(Query(query, Format.TABLE))
    panel.span(width)
    panel.height(height)
    panel.unit("none")
    panel.show_header(True)
    panel.color_scheme(dashboard.FieldColor().mode(FieldColorModeId.FIXED).fixed_color("text"))
    _override(panel, _by_name(columns))
    return panel


def trace(query: str, title: str, description: str, *, height: int = 14) -> dashboard.Panel:
    """Grafana's own picture of a trace."""
    panel = dashboard.Panel()
    panel.type("traces")
    panel.title(title)
    panel.description(description)
    panel.datasource(SOURCE)
    panel.with_target(Query(query, Format.TRACE))
    panel.options({})
    panel.with_transformation(
        DataTransformerConfig(id_val="extractFields", options={"source": "span", "format": "json", "replace": True})
    )
    panel.span(24)
    panel.height(height)
    return panel


def _by_name(columns: Mapping[str, Sequence[DynamicConfigValue]]) -> list[Override]:
    return [Override(MatcherConfig("byName", name), list(look)) for name, look in columns.items()]


def _override(panel: stat.Panel | table.Panel | timeseries.Panel, overrides: Sequence[Override]) -> None:
    for override in overrides:
        assert override.matcher is not None  # noqa: S101 - all of ours have one
        panel.with_override(override.matcher, override.properties)
