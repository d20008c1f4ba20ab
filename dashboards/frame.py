"""What all dashboards share: address, time range, refresh, and the links from one to the others."""

from __future__ import annotations

from typing import Any, cast

from grafana_foundation_sdk.builders.dashboard import AnnotationQuery, Dashboard, DashboardLink
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync, DashboardLinkType

from .source import SOURCE, Format, Query

TAG = "walltime"


def frame(uid: str, title: str, description: str) -> Dashboard:
    """A dashboard without panels."""
    others = DashboardLink("Walltime")
    others.type(DashboardLinkType.DASHBOARDS)
    others.tags([TAG])
    others.keep_time(True)
    others.include_vars(True)
    board = Dashboard(title)
    board.uid(uid)
    board.description(description)
    board.tags([TAG])
    board.time("now-1h", "now")
    board.refresh("30s")
    board.timezone("browser")
    board.tooltip(DashboardCursorSync.CROSSHAIR)
    board.editable()
    board.link(others)
    board.annotations([_marks("Incidents", "incidents", "red"), _marks("Servers", "server_events", "blue")])
    return board


def _marks(name: str, query: str, colour: str) -> AnnotationQuery:
    """What the collector noticed, as marks on all panels: its incidents, and what happened on observed servers."""
    layer = AnnotationQuery().name(name).datasource(SOURCE).enable(True).icon_color(colour)
    # the SDK knows only the targets of Grafana's own annotations
    return layer.target(cast(Any, Query(query, Format.TABLE, "Anno")))
