"""A board: what all have in common, and where its panels are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import variables
from .links import TAG, UIDS, of_board
from .panels import Panel
from .source import SOURCE, Format, target

GRID_COLUMNS = 24
SHARED = {"type": "datasource", "uid": "-- Dashboard --"}
"""Grafana's own source: the answer that another panel of the board has."""


@dataclass(frozen=True)
class Line:
    """Panels side by side, all of this height (in units of 38 px)."""

    height: int
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Section:
    """Lines below a heading; a closed one asks nothing until somebody opens it."""

    title: str
    lines: tuple[Line, ...]
    is_open: bool = True


def line(height: int, *panels: Panel) -> Line:
    """Panels side by side; together they are 24 wide."""
    return Line(height, panels)


def section(title: str, *lines: Line, is_open: bool = True) -> Section:
    """Lines below a heading."""
    return Section(title, lines, is_open)


def board(
    name: str,
    title: str,
    about: str,
    *content: Line | Section,
    own_variables: Sequence[dict[str, Any]] = (),
    refresh: str = "30s",
) -> dict[str, Any]:
    """
    The whole board as Grafana reads it.

    Args:
        name: Of links.UIDS.
        own_variables: Besides those of every board.
    """
    return {
        "uid": UIDS[name],
        "title": f"Walltime: {title}",
        "description": about,
        "tags": [TAG],
        "schemaVersion": 37,
        "editable": True,
        "graphTooltip": 1,
        "refresh": refresh,
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "links": of_board(),
        "annotations": {"list": _annotations()},
        "templating": {"list": [*own_variables, *variables.of_every_board()]},
        "panels": _asked_once(_placed(content)),
    }


def _annotations() -> list[dict[str, Any]]:
    """Marks on all panels: incidents of the kinds shown, first minutes of versions, what happened on servers."""
    layers = {"Incidents": ("incidents", "red"), "Versions": ("versions", "purple"), "Servers": ("servers", "blue")}
    return [
        {
            "name": name,
            "datasource": SOURCE,
            "enable": True,
            "iconColor": colour,
            "target": target(f"annotations/{query}", Format.TABLE, "Anno"),
        }
        for name, (query, colour) in layers.items()
    ]


def _asked_once(panels: list[Panel]) -> list[Panel]:
    """
    Panels that ask the same: the first one asks, the others take its answer.

    Grafana asks nothing for a closed row, and before 10.2 an answer was not fetched from there: so a panel there is the
    source of those beside it only.
    """
    asked: dict[tuple[str, str], int] = {}

    def shared(panel: Panel, known: dict[tuple[str, str], int]) -> Panel:
        if not panel.get("targets"):
            return panel
        question = (panel["targets"][0]["rawSql"], panel.get("interval", ""))
        source = known.setdefault(question, panel["id"])
        if source == panel["id"]:
            return panel
        return panel | {"datasource": SHARED, "targets": [{"datasource": SHARED, "panelId": source, "refId": "A"}]}

    open_ones = [shared(panel, asked) for panel in panels]

    def closed(row: Panel) -> Panel:
        known = asked.copy()
        return row | {"panels": [shared(panel, known) for panel in row["panels"]]} if row.get("panels") else row

    return [closed(panel) for panel in open_ones]


def _placed(content: Sequence[Line | Section]) -> list[Panel]:
    placed: list[Panel] = []
    y, number = 0, 0

    def put(each: Line) -> list[Panel]:
        nonlocal y, number
        x, done = 0, []
        for panel in each.panels:
            number += 1
            width = panel["gridPos"]["w"]
            done.append({**panel, "id": number, "gridPos": {"x": x, "y": y, "w": width, "h": each.height}})
            x += width
        if x != GRID_COLUMNS:
            raise ValueError(f"{[panel['title'] for panel in each.panels]} are {x} wide together, not {GRID_COLUMNS}")
        y += each.height
        return done

    for each in content:
        if isinstance(each, Line):
            placed += put(each)
            continue
        number += 1
        row = {"id": number, "type": "row", "title": each.title, "collapsed": not each.is_open, "panels": []}
        placed.append({**row, "gridPos": {"x": 0, "y": y, "w": GRID_COLUMNS, "h": 1}})
        y += 1
        below = [panel for inside in each.lines for panel in put(inside)]
        if each.is_open:
            placed += below
        else:
            placed[-1]["panels"] = below
    return placed
