"""What Grafana's own code, `@grafana/data` of 9.4 and 12, makes of our panels and the shop's data; by night."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dashboards.inter import text_px
from tests.dashboards.conftest import Answer, Grafana
from tests.dashboards.grafana import dashboards, panels
from tests.dashboards.screen import CELL_PADDING_PX

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

PROGRAM = Path(__file__).parent / "grafana_data"
GRAFANAS = ("grafana-data-9.4", "grafana-data-12")
BOARDS = dashboards()
RED, ORANGE = "#e02f44", "#FF9830"


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
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if shutil.which("npm") is None:
        pytest.skip("npm is not on this machine; install Node.js to read the dashboards with Grafana's own code")
    folder = Path(shutil.copytree(PROGRAM, tmp_path_factory.mktemp("grafana") / "data"))
    # peers are of Grafana's user interface; nothing here draws
    install = ("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps")
    run(install, folder, "")
    yield folder
    shutil.rmtree(folder)


def run(command: Sequence[str], folder: Path, given: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env=os.environ, input=given, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def draw(program: Path, version: str, asked: Sequence[dict[str, Any]]) -> list[dict[str, Column]]:
    """Per panel, column → how it is shown. Series of one column are named by their label."""
    printed = run(("node", "draw.cjs", version), program, json.dumps(asked)).splitlines()[-1]
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
                "values": [milliseconds(value) for value in values] if is_time else values,
            }
        )
    return {"type": panel["type"], "fieldConfig": panel["fieldConfig"], "columns": columns}


def of_types(*types: str) -> list[dict[str, Any]]:
    return [panel for board in BOARDS.values() for panel in panels(board) if panel["type"] in types]


@pytest.mark.parametrize("version", GRAFANAS)
def test_no_number_is_cut_or_nameless_and_every_link_leads_somewhere(
    grafana: Grafana, program: Path, version: str
) -> None:
    tables = of_types("table", "stat")
    answers = [grafana.ask(panel["targets"][0]["rawSql"]) for panel in tables]
    drawn = draw(program, version, [asked(panel, answer) for panel, answer in zip(tables, answers, strict=True)])
    followed = 0
    for panel, answer, columns in zip(tables, answers, drawn, strict=True):
        assert list(columns) == list(answer.columns), "no column is renamed"
        for name, column in columns.items():
            values = answer.column(name)
            for value, text in zip(values, column.texts, strict=True):
                assert "NaN" not in text
                assert (text in ("", "–")) is (value is None or value == ""), (panel["title"], name, value, text)
                is_fixed = "width" in column.custom and not isinstance(value, str)
                if panel["type"] == "table" and is_fixed:
                    assert text_px(text) + CELL_PADDING_PX <= column.custom["width"], (panel["title"], name, text)
            for row, urls in zip(answer.by_name(), column.links, strict=True):
                for url in urls:
                    leads_on(url, row)
                    followed += 1
    assert followed > 50


def leads_on(url: str, row: dict[str, Any]) -> None:
    assert "${" not in url.replace("${__url_time_range}", ""), url  # Grafana itself puts the time range in
    address = urlsplit(url.replace("${__url_time_range}&", ""))
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
    status = panels(BOARDS["walltime-transaction"])[0]
    lines = ["No transaction has the trace id 42.", "Request 42"]
    (drawn,) = draw(program, version, [{**status, "columns": [{"name": "status", "type": "string", "values": lines}]}])
    assert drawn["status"].texts == lines
    assert [colour == ORANGE for colour in drawn["status"].colours] == [True, False]


@pytest.mark.parametrize("version", GRAFANAS)
def test_every_kind_of_the_mysql_load_has_a_link_and_all_others_have_none(program: Path, version: str) -> None:
    (load,) = (each for each in panels(BOARDS["walltime-mysql"]) if each["title"] == "Load by kind")
    kinds = ["GET /product/{id}", "POST /a&b=c", "(all others)"]
    series = [{"name": "active", "type": "number", "labels": {"kind": kind}, "values": [1.0]} for kind in kinds]
    columns = [{"name": "time", "type": "time", "values": [1_790_000_000_000]}, *series]
    (drawn,) = draw(program, version, [{**load, "columns": columns}])
    assert drawn["(all others)"].links == [[]]
    for kind in kinds[:2]:
        ((url,),) = drawn[kind].links
        leads_on(url, {"kind": kind})


@pytest.mark.parametrize("version", GRAFANAS)
def test_components_have_the_colour_of_their_family(program: Path, version: str) -> None:
    stacked = [panel for panel in of_types("timeseries") if panel["title"].startswith("Where the time goes")]
    names = ["mysql.query", "memcache.get", "http.request", "other", "render"]
    series = [{"name": "ms", "type": "number", "labels": {"component": name}, "values": [1.0]} for name in names]
    columns = [{"name": "time", "type": "time", "values": [1_790_000_000_000]}, *series]
    (drawn,) = draw(program, version, [{**stacked[0], "columns": columns}])
    colours = [drawn[name].colours[0] for name in names]
    assert len(set(colours)) == len(names)
