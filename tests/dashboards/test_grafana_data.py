"""What Grafana's own code, `@grafana/data` of 9.5 and 12, makes of our panels and the shop's data; by night."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from walltime_collector.cli.drawing.bars import COLOURS

from dashboards.colours import APPLICATION, FAILED, PALETTE, PLACE, WARNING
from dashboards.inter import text_px
from tests.dashboards.conftest import Answer, Grafana
from tests.dashboards.grafana import dashboards, panels
from tests.dashboards.npm import NoNodeError, installed, run
from tests.dashboards.screen import CELL_PADDING_PX

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

PROGRAM = Path(__file__).parent / "grafana_data"
GRAFANAS = ("grafana-data-9.5", "grafana-data-12")
BOARDS = dashboards()
RED, ORANGE = FAILED, WARNING


@dataclass(frozen=True)
class Column:
    """A column of a panel as Grafana shows it."""

    name: str
    displayName: str  # noqa: N815 - Grafana's name
    texts: list[str]
    colours: list[str | None]
    links: list[list[str]]
    custom: dict[str, Any]


@pytest.fixture(scope="module")
def program() -> Path:
    try:
        return installed(PROGRAM / "package.json")
    except NoNodeError as missing:
        pytest.skip(str(missing))


def draw(program: Path, version: str, asked: Sequence[dict[str, Any]]) -> list[dict[str, Column]]:
    """Per panel, column → how it is shown. Series of one column are named by their label."""
    modules = {"NODE_PATH": str(program / "node_modules")}
    command = ("node", str(PROGRAM / "draw.cjs"), version)
    printed = run(command, program, json.dumps(asked), **modules).splitlines()[-1]
    drawn = [[Column(**column) for column in panel] for panel in json.loads(printed)]
    return [{column.displayName: column for column in panel} for panel in drawn]


def milliseconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000


def asked(panel: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """The panel and the columns of its table, as the plugin hands them over."""
    columns = []
    for name, kind in answer.columns.items():
        values = answer.column(name)
        is_time, is_number = "DateTime" in kind, "Int" in kind or "Float" in kind
        columns.append(
            {
                "name": name,
                "type": "time" if is_time else "number" if is_number else "string",
                "values": [value and milliseconds(value) for value in values] if is_time else values,
            }
        )
    return {"type": panel["type"], "fieldConfig": panel["fieldConfig"], "columns": columns}


def of_types(*types: str) -> list[dict[str, Any]]:
    return [panel for board in BOARDS.values() for panel in panels(board) if panel["type"] in types]


@pytest.mark.parametrize("version", GRAFANAS)
def test_no_number_is_cut_or_nameless_and_every_link_leads_somewhere(
    grafana: Grafana, program: Path, version: str
) -> None:
    tables = of_types("table")
    answers = [grafana.ask_panel(panel) for panel in tables]
    drawn = draw(program, version, [asked(panel, answer) for panel, answer in zip(tables, answers, strict=True)])
    followed = 0
    for panel, answer, columns in zip(tables, answers, drawn, strict=True):
        assert list(columns) == list(answer.columns), "no column is renamed"
        for name, column in columns.items():
            values = answer.column(name)
            for value, text in zip(values, column.texts, strict=True):
                assert "NaN" not in text
                assert (text in ("", "–")) is (value is None or value == ""), (panel["title"], name, value, text)
                if "width" in column.custom and not isinstance(value, str):
                    assert text_px(text) + CELL_PADDING_PX <= column.custom["width"], (panel["title"], name, text)
            for row, urls in zip(answer.by_name(), column.links, strict=True):
                for url in urls:
                    leads_on(url, row)
                    followed += 1
    assert followed > 50


def leads_on(url: str, row: dict[str, Any]) -> None:
    url = re.sub(r"\$\{(__url_time_range|\w+:queryparam)\}(&|$)", "", url)  # Grafana itself puts these in
    if url.startswith("${walltime_url}/"):
        assert "${" not in url.removeprefix("${walltime_url}")
        return
    assert "${" not in url, url
    address = urlsplit(url)
    board = BOARDS[address.path.removeprefix("/d/")]
    given = {name.removeprefix("var-"): values for name, values in parse_qs(address.query).items()}
    assert set(given) <= {variable["name"] for variable in board["templating"]["list"]}
    for name in ("service", "kind"):
        if name in given:
            assert given[name] == [row[name]]
    if "trace_id" in given:
        assert given["trace_id"][0] in row.values()
        assert len(given["trace_id"][0]) == 32


@pytest.mark.parametrize("version", GRAFANAS)
def test_counts_keep_their_digits_and_few_failures_are_neither_0_nor_red(program: Path, version: str) -> None:
    (board,) = (board for uid, board in BOARDS.items() if uid == "walltime-response-time")
    (kinds,) = (panel for panel in panels(board) if panel["title"].startswith("Kinds"))
    columns = [
        {"name": "transactions", "type": "number", "values": [3460, 3745, 3431, 1234567]},
        {"name": "failed", "type": "number", "values": [1 / 53_949, 0, 0.25, None]},
        {"name": "mean", "type": "number", "values": [87_312.3, 462_000_000, 1_234_567_890, 873]},
    ]
    (drawn,) = draw(program, version, [{**kinds, "columns": columns}])
    assert drawn["transactions"].texts == ["3,460", "3,745", "3,431", "1,234,567"]
    assert drawn["failed"].texts == ["0.00185%", "0%", "25%", ""]
    assert [colour == RED for colour in drawn["failed"].colours] == [False, False, True, False]
    assert drawn["mean"].texts == ["87.3 µs", "462 ms", "1.23 s", "873 ns"]


@pytest.mark.parametrize("version", GRAFANAS)
def test_a_line_at_the_top_is_orange_where_something_is_missing(program: Path, version: str) -> None:
    status = panels(BOARDS["walltime-start"])[0]
    lines = ["No transaction in this time. Choose a longer one.", "Not well: stopping", "42 transactions"]
    columns = [{"name": "sentence", "type": "string", "values": lines}]
    (drawn,) = draw(program, version, [{**status, "columns": columns}])
    assert drawn["sentence"].texts == lines
    assert [colour == ORANGE for colour in drawn["sentence"].colours] == [True, True, False]


def series(label: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """A point of each, as the plugin's server answers: with its place among the labels."""
    labels = [{"place": PLACE * at, label: name} for at, name in enumerate(names, start=1)]
    fields = [{"name": "ns", "type": "number", "labels": each, "values": [1.0]} for each in labels]
    return [{"name": "time", "type": "time", "values": [1_790_000_000_000]}, *fields]


@pytest.mark.parametrize("version", GRAFANAS)
def test_every_kind_has_a_link_and_a_colour_that_is_no_alarm_and_the_others_have_no_link(
    program: Path, version: str
) -> None:
    by_kind = [panel for panel in of_types("timeseries") if "labels.kind}" in str(panel["fieldConfig"])]
    kinds = ["GET /product/{id}", "POST /a&b=c", "failed", "(others)"]
    for drawn in draw(program, version, [{**panel, "columns": series("kind", kinds)} for panel in by_kind]):
        columns = {name.lstrip(PLACE): column for name, column in drawn.items()}
        assert columns["(others)"].links == [[]]
        for at, kind in enumerate(kinds[:3]):
            ((url,),) = columns[kind].links
            leads_on(url, {"kind": kind})
            assert columns[kind].colours == [PALETTE[at]]


@pytest.mark.parametrize("version", GRAFANAS)
def test_components_and_families_have_the_colour_of_the_family(program: Path, version: str) -> None:
    names = [
        "mysql.pool",
        "memcache.touch",
        "redis.get",
        "http.retry",
        "python.gc",
        "orm.load",
        "render",
        "view",
        "other",
    ]
    families = ["mysql", "memcache", "redis", "http", "python", "framework", APPLICATION, "view", "other"]
    for label, shown in (("component", names), ("family", families)):
        panel = next(each for each in of_types("timeseries") if f"labels.{label}}}" in str(each["fieldConfig"]))
        (drawn,) = draw(program, version, [{**panel, "columns": series(label, shown)}])
        assert [column.colours[0] for column in list(drawn.values())[1:]] == list(COLOURS.values())
