"""What the panels of a board get when it is opened: frames or the server's error, and the annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.dashboards.conftest import Answer, Grafana
from tests.dashboards.grafana import Plugin, expand, panels, variables
from tests.dashboards.pictures.frames import frames

Values = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class Opened:
    """A board with everything it shows."""

    board: dict[str, Any]
    variables: Values
    results: dict[int, list[dict[str, Any]]]
    """Panel → for each of its queries the frames, or the error."""
    annotations: list[dict[str, Any]]


def opened(
    grafana: Grafana, board: dict[str, Any], intervals: Mapping[str, float], chosen: Mapping[str, str], plugin: Plugin
) -> Opened:
    """
    Ask all queries of the board.

    Args:
        intervals: Panel → seconds between its points, which Grafana computes from its width.
        chosen: Other values of variables than the board starts with; several have commas between them.
    """
    start = variables(board)
    values: Values = {**start, **{name: _value(start[name], text) for name, text in chosen.items() if name in start}}

    def ask(target: Mapping[str, Any], interval_s: float) -> dict[str, Any]:
        shown = replace(grafana.shown, interval_s=max(int(interval_s), 1))
        try:
            answer = _answer(grafana, expand(target["rawSql"], plugin, shown, values))
            return {"frames": frames(answer, target["refId"], target["format"])}
        except (AssertionError, KeyError, ValueError) as error:
            return {"error": f"{type(error).__name__}: {error}"}

    results = {
        panel["id"]: [
            ask(target, intervals[str(target.get("panelId", panel["id"]))])
            for target in panel["targets"]
            if not target.get("hide")
        ]
        for panel in panels(board)
    }
    marks = [
        mark
        for each in board.get("annotations", {}).get("list", [])
        if each.get("enable") and "rawSql" in each.get("target", {})
        for mark in _marks(each, _answer(grafana, expand(each["target"]["rawSql"], plugin, grafana.shown, values)))
    ]
    return Opened(board, values, results, marks)


def _answer(grafana: Grafana, statement: str) -> Answer:
    """Once for both themes: what is stored does not change."""
    if statement not in grafana.answers:
        grafana.answers[statement] = grafana.ask_raw(statement)
    return grafana.answers[statement]


def _value(start: str | Sequence[str], text: str) -> str | list[str]:
    return text if isinstance(start, str) else text.split(",")


def _marks(annotation: Mapping[str, Any], answer: Answer) -> list[dict[str, Any]]:
    fields = {each["name"]: each["values"] for each in frames(answer, "Anno", 1)[0]["fields"]}
    ends = fields.get("timeEnd", fields["time"])
    return [
        {"time": time, "timeEnd": end, "color": annotation["iconColor"]}
        for time, end in zip(fields["time"], ends, strict=True)
    ]
