"""
What Grafana and its ClickHouse plugin do to a target before a server sees it, for plugin 3.3 and 4.

In the browser: `$__conditionalAll` and the dashboard's variables. In the plugin's server: the time macros, by a search
for the closing bracket that is repeated here with its quirks, since a query may trip over them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.by_day import by_day

GENERATED = Path(__file__).parents[2] / "dashboards" / "generated"
Plugin = Literal["3.3", "4"]
PLUGINS: tuple[Plugin, ...] = ("3.3", "4")
ALL = "$__all"


@dataclass(frozen=True)
class Range:
    """The time shown, in whole seconds since 1970, and how far apart its points are."""

    from_s: int
    to_s: int
    interval_s: int


@cache
def dashboards() -> dict[str, Any]:
    """uid → dashboard."""
    boards = [json.loads(path.read_text("utf-8")) for path in sorted(GENERATED.glob("*.json"))]
    return {board["uid"]: board for board in boards}


def panels(board: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The panels that show answers, those in closed rows too; with the targets of the panel whose answer they take."""
    found = [each for panel in board["panels"] for each in (panel, *panel.get("panels", []))]
    asked = {panel["id"]: panel["targets"] for panel in found if panel.get("targets")}
    shown = [panel for panel in found if panel["type"] not in ("row", "text")]
    return [panel | {"targets": [_source(target, asked) for target in panel["targets"]]} for panel in shown]


def _source(target: dict[str, Any], asked: Mapping[int, list[dict[str, Any]]]) -> dict[str, Any]:
    if "panelId" not in target:
        return target
    (source,) = asked[target["panelId"]]
    return source | {"panelId": target["panelId"]}


def is_shared(panel: Mapping[str, Any]) -> bool:
    """Whether it takes the answer of another panel."""
    return bool(panel["datasource"]["uid"] == "-- Dashboard --")


def is_drawn(panel: Mapping[str, Any], column: str) -> bool:
    """Whether the panel's transformations leave this column."""
    patterns = [
        each["options"]["include"]["pattern"]
        for each in panel.get("transformations", ())
        if each["id"] == "filterFieldsByName"
    ]
    return all(re.search(pattern.strip("/"), column) for pattern in patterns)


def every_panel(*types: str) -> list[Any]:
    """Each panel of each board, of these types, as a parameter of a test: `kind: Servers`."""
    return [
        pytest.param(panel, id=f"{uid.removeprefix('walltime-')}: {panel['title'] or panel['type']}")
        for uid, board in dashboards().items()
        for panel in panels(board)
        if not types or panel["type"] in types
    ]


def panels_by_day(*types: str) -> list[Any]:
    """Those that are asked by day, the same ones in all tests of a folder: what one has asked, others need not ask."""
    return [each for each in by_day(every_panel(), 3) if not types or each.values[0]["type"] in types]


def questions(board: Mapping[str, Any]) -> dict[str, str]:
    """Everything that a board asks, by what it is for."""
    return {
        **{panel["title"] or panel["description"]: panel["targets"][0]["rawSql"] for panel in panels(board)},
        **{f"${each['name']}": each["query"] for each in board["templating"]["list"] if each["type"] == "query"},
        **{f"@{each['name']}": each["target"]["rawSql"] for each in board["annotations"]["list"]},
    }


def looks(panel: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Column or pattern → its properties."""
    return {
        rule["matcher"]["options"]: {each["id"]: each["value"] for each in rule["properties"]}
        for rule in panel["fieldConfig"]["overrides"]
    }


def variables(board: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """
    Name → the value it starts with, of the variables that Grafana knows after it has read the dashboard.

    Grafana 9 stores them by `id`, and by name only where there is no id: of two with the same id the last one is left.
    """
    stored = {each.get("id") or each["name"]: each for each in board["templating"]["list"]}
    return {each["name"]: each["current"].get("value", "") for each in stored.values()}


def expand(
    sql: str,
    plugin: Plugin,
    shown: Range,
    variables: Mapping[str, str | Sequence[str]],
    words: Plugin | None = None,
) -> str:
    """
    The statement as it leaves the plugin.

    Args:
        variables: Values of the dashboard's variables; a list for one that takes several, [ALL] for all.
        words: The plugin whose words stand for the macros that `plugin` has found; by default the same one.
    """
    return _macros(_variables(_conditions(sql, variables), variables), plugin, shown, words or plugin)


def _conditions(sql: str, variables: Mapping[str, str | Sequence[str]]) -> str:
    """`$__conditionalAll(condition, $variable)`: the condition, or 1=1 where the variable stands for all."""
    macro = "$__conditionalAll("
    while (start := sql.rfind(macro)) != -1:
        depth, end = 1, start + len(macro)
        commas = []
        while depth:
            if sql[end] == "," and depth == 1:
                commas.append(end)
            depth += {"(": 1, ")": -1}.get(sql[end], 0)
            end += 1
        (comma,) = commas
        name = sql[comma + 1 : end - 1].strip().removeprefix("$")
        is_all = list(variables[name]) == [ALL]
        sql = sql[:start] + ("1=1" if is_all else sql[start + len(macro) : comma]) + sql[end:]
    return sql


def _variables(sql: str, variables: Mapping[str, str | Sequence[str]]) -> str:
    """`${name:singlequote}`; a variable nobody defined stays as it is, which the server will not like."""

    def value(found: re.Match[str]) -> str:
        name, how = found[1], found[2]
        assert how == "singlequote", f"${{{name}:{how}}}: not quoted"
        given = variables[name]
        values = [given] if isinstance(given, str) else list(given)
        return ",".join("'" + each.replace("'", "\\'") + "'" for each in values)

    return re.sub(r"\$\{(\w+):(\w+)\}", value, sql)


def _macros(sql: str, plugin: Plugin, shown: Range, words: Plugin) -> str:
    for name, (takes, macro) in _MACROS[words].items():
        for text, inside in _uses(sql, name, plugin):
            arguments = [argument.strip() for argument in inside.split(",")] if inside else []
            assert len(arguments) == takes, f"{text}: {takes} arguments, not {arguments}"
            sql = sql.replace(text, macro(shown, *arguments))
    return sql


def _uses(sql: str, name: str, plugin: Plugin) -> list[tuple[str, str]]:
    """Uses of a macro as (all of its text, what is in its brackets)."""
    uses = []
    for found in re.finditer(rf"\$__{name}\b", sql):
        depth, first, end = 0, 0, 0
        for at in range(found.start(), len(sql)):
            character = sql[at]
            if character == "(":
                first = first or at + 1
                depth += 1
            elif character == ")" or (plugin == "3.3" and character == " " and not first):
                if not depth:
                    end = 0
                    break
                depth -= 1
                end = at + 1
                if not depth:
                    break
        end = end or found.end()
        uses.append((sql[found.start() : end], sql[first : end - 1] if first and first < end else ""))
    return uses


def _moment(seconds: int) -> str:
    return f"toDateTime({seconds})"


def _milli(seconds: int) -> str:
    return f"fromUnixTimestamp64Milli({seconds * 1000})"


def _interval(shown: Range, column: str) -> str:
    return f"toStartOfInterval(toDateTime({column}), INTERVAL {shown.interval_s} second)"


def _date(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d")


Macro = tuple[int, Callable[..., str]]
_MACROS: dict[Plugin, dict[str, Macro]] = {
    "3.3": {
        "fromTime": (0, lambda shown: f"toDateTime(intDiv({shown.from_s * 1000},1000))"),
        "toTime": (0, lambda shown: f"toDateTime(intDiv({shown.to_s * 1000},1000))"),
        "timeFilter_ms": (1, lambda s, c: f"{c} >= '{s.from_s * 1000}' AND {c} <= '{s.to_s * 1000}'"),
        "timeFilter": (1, lambda shown, column: f"{column} >= '{shown.from_s}' AND {column} <= '{shown.to_s}'"),
        "dateFilter": (1, lambda s, c: f"{c} >= '{_date(s.from_s)}' AND {c} <= '{_date(s.to_s)}'"),
        "timeInterval": (1, _interval),
        "interval_s": (0, lambda shown: str(shown.interval_s)),
    },
    "4": {
        "fromTime": (0, lambda shown: _moment(shown.from_s)),
        "toTime": (0, lambda shown: _moment(shown.to_s)),
        "timeFilter_ms": (1, lambda s, c: f"{c} >= {_milli(s.from_s)} AND {c} <= {_milli(s.to_s)}"),
        "timeFilter": (1, lambda s, c: f"{c} >= {_moment(s.from_s)} AND {c} <= {_moment(s.to_s)}"),
        "dateFilter": (1, lambda s, c: f"{c} >= toDate('{_date(s.from_s)}') AND {c} <= toDate('{_date(s.to_s)}')"),
        "timeInterval": (1, _interval),
        "interval_s": (0, lambda shown: str(shown.interval_s)),
    },
}
