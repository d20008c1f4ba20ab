"""Every board has the types of `@grafana/schema`, of each Grafana it is made for; by night."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.grafana import dashboards
from tests.dashboards.npm import NoNodeError, installed, run

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]

PROGRAM = Path(__file__).parent / "grafana_schema"
NEWEST = "grafana-13"
UNKNOWN = {
    "style": "9.5 reads it, later ones follow the user's theme",
    "auto": "Grafana's SDK writes it into every variable, where it means something for intervals alone",
    "auto_count": "as auto",
    "auto_min": "as auto",
    "show": "the tooltip of 9.5's heat map; later ones have mode, which is written too",
    "fieldMinMax": "in the types of @grafana/data alone; older ones have one scale for all tiles",
    "hidden": "the table of 12 and 13 turns it into hideFrom.viz when it opens the board",
    "footer": "the table of 12 and 13 turns it into a property of fields when it opens the board",
}
"""Property that the types of the newest Grafana do not have → why it is written all the same."""


@pytest.fixture(scope="module")
def program() -> Path:
    try:
        return installed(PROGRAM / "package.json")
    except NoNodeError as missing:
        pytest.skip(str(missing))


def check(program: Path, boards: list[Any]) -> Any:
    modules = {"NODE_PATH": str(program / "node_modules")}
    return json.loads(run(("node", str(PROGRAM / "check.cjs"), str(program)), program, json.dumps(boards), **modules))


def wrong(said: Any) -> list[str]:
    """Values of another type, and properties that the newest Grafana does not know."""
    unknown_to, lines = defaultdict(set), set()
    for each in said["found"]:
        if ".target." in each["path"]:  # an annotation's query, which is the plugin's
            continue
        path = re.sub(r"\[\d+\]", "[]", each["path"])
        where = f"{each['board']}, {each['panel'] or 'the board'}: {path}"
        if each["problem"] == "unknown":
            unknown_to[where].add(each["grafana"])
        elif not (
            each["grafana"] == "grafana-9.5" and each["problem"] == "missing"
        ):  # it lists what it computes itself
            lines.add(f"{each['grafana']}: {where}: {each['problem']}")
    for where, grafanas in unknown_to.items():
        if NEWEST in grafanas and where.rpartition(".")[2] not in UNKNOWN:
            lines.add(f"unknown to {', '.join(sorted(grafanas))}: {where}")
    return sorted(lines)


def test_the_boards_have_the_types_of_every_supported_grafana(program: Path) -> None:
    said = check(program, list(dashboards().values()))
    for grafana, types in said["checked"].items():
        assert types["common"] == ["Dashboard", "Panel", "FieldConfig"], grafana
        assert grafana == "grafana-9.5" or {"table", "timeseries", "stat"} <= set(types["kinds"])
    assert wrong(said) == []


def test_a_wrong_value_and_an_unknown_property_are_found(program: Path) -> None:
    board = next(iter(dashboards().values()))
    (series, *_) = (panel for panel in board["panels"] if panel["type"] == "timeseries")
    broken = json.loads(json.dumps({**board, "panels": [series]}))
    panel = broken["panels"][0]
    panel["options"]["legend"]["displayMode"] = "tabel"
    panel["options"]["ledgend"] = {}
    panel["fieldConfig"]["defaults"]["custom"]["lineWidth"] = "1"
    panel["gridPos"]["w"] = None
    lines = "\n".join(wrong(check(program, [broken])))
    for path in ("options.legend.displayMode", "options.ledgend", "defaults.custom.lineWidth", "gridPos.w"):
        assert path in lines
