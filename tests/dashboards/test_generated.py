"""The generated dashboards hang together: current, complete, nothing dangling, nothing on top of something else."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from dashboards import alerts, build, source
from tests.dashboards.grafana import GENERATED, dashboards, every_panel, is_shared, panels, questions, variables

BOARDS = dashboards()
QUERIES = Path(GENERATED.parent / "queries")
SOURCE = {"type": "grafana-clickhouse-datasource", "uid": "${datasource}"}
BUILT_IN = {"__url_time_range", "__value", "__data", "__field"}
each_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)


def links(value: Any) -> list[str]:
    """All urls anywhere below."""
    if isinstance(value, dict):
        return [url for each in value.values() for url in links(each)] + ([value["url"]] if value.get("url") else [])
    return [url for each in value for url in links(each)] if isinstance(value, list) else []


def test_the_generated_files_are_what_the_code_makes() -> None:
    files = {path.name: path.read_text("utf-8") for path in GENERATED.glob("*.json")}
    assert files == build.documents(), "run: make dashboards"
    assert build.ALERTS.read_text("utf-8") == alerts.document(), "run: make dashboards"


def test_every_query_file_is_asked_somewhere() -> None:
    asked = {sql for board in BOARDS.values() for sql in questions(board).values()}
    asked |= {source.sql(f"alerts/{rule.name}") for rule in alerts.RULES}
    names = [str(path.relative_to(QUERIES).with_suffix("")) for path in QUERIES.rglob("*.sql")]
    included = set(re.findall(r"-- include (\S+)", "".join(path.read_text("utf-8") for path in QUERIES.rglob("*.sql"))))
    parts = {name for name in names if "_" in (name[0], name.rpartition("/")[2][0])}
    of_pages = {name for name in included if name.endswith(".sql")}
    assert {name.rpartition("/")[2].removeprefix("_") for name in parts} == included - of_pages
    assert [name for name in names if name not in parts and source.sql(name) not in asked] == []


@each_board
def test_panels_have_ids_of_their_own_and_do_not_overlap(board: dict[str, Any]) -> None:
    everything = [each for panel in board["panels"] for each in (panel, *panel.get("panels", []))]
    assert sorted(panel["id"] for panel in everything) == list(range(1, len(everything) + 1))
    for at in (panel["gridPos"] for panel in everything):
        assert 0 <= at["x"] < at["x"] + at["w"] <= 24
        assert at["h"] > 0
    for one, other in combinations([panel["gridPos"] for panel in everything], 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below, (one, other)


@each_board
def test_every_panel_is_described_and_asks_the_chosen_source(board: dict[str, Any]) -> None:
    assert board["description"].endswith(".")
    for panel in panels(board):
        assert panel["description"].endswith("."), panel["title"]
        assert panel["title"] or panel["type"] == "stat" or panel["options"]["showHeader"] is False
    asking = [panel for panel in panels(board) if not is_shared(panel)]
    asking += [*(panel["targets"][0] for panel in panels(board)), *board["annotations"]["list"]]
    asking += [each for each in board["templating"]["list"] if each["type"] == "query"]
    assert all(each["datasource"] == SOURCE for each in asking)
    (chosen,) = [each for each in board["templating"]["list"] if each["type"] == "datasource"]
    assert chosen["query"] == SOURCE["type"]
    assert chosen["current"]["value"] == "", "no source is fixed"


@each_board
def test_no_question_is_asked_twice_and_a_shared_answer_is_of_a_panel_that_grafana_asks(board: dict[str, Any]) -> None:
    """A closed row asks nothing, and before Grafana 10.2 an answer was not fetched from there."""
    known: set[int] = set()
    asked: list[str] = []
    closed = [panel["panels"] for panel in board["panels"] if panel.get("panels")]
    for together in (board["panels"], *closed):
        of_here = [panel for panel in together if panel.get("targets")]
        reachable = known | {panel["id"] for panel in of_here if not is_shared(panel)}
        for panel in of_here:
            (target,) = panel["targets"]
            if is_shared(panel):
                assert target == {"datasource": panel["datasource"], "panelId": target["panelId"], "refId": "A"}
                assert target["panelId"] in reachable
            else:
                asked.append(target["rawSql"])
        known = known or reachable
    assert len(asked) == len(set(asked)) or closed
    for panel in panels(board):
        (source,) = (each for each in panels(board) if each["id"] == panel["targets"][0].get("panelId", panel["id"]))
        assert (source["type"], source.get("interval")) == (panel["type"], panel.get("interval"))
        if is_shared(panel):
            assert panel["transformations"] != source["transformations"]


@each_board
def test_targets_speak_to_plugin_3_and_plugin_4(board: dict[str, Any]) -> None:
    for panel in panels(board):
        (target,) = panel["targets"]
        of_type = {"timeseries": 0, "stat": 0, "heatmap": 0, "traces": 3}.get(panel["type"], 1)
        assert target["format"] == target["selectedFormat"] == of_type
        assert (target["queryType"], target["editorType"]) == ("sql", "sql")
        assert target["pluginVersion"].startswith("4.")


@each_board
def test_every_variable_used_exists_and_is_quoted(board: dict[str, Any]) -> None:
    for sql in questions(board).values():
        named, quoted = set(re.findall(r", ?\$(\w+)\)", sql)), set(re.findall(r"\$\{(\w+):singlequote\}", sql))
        assert named | quoted <= variables(board).keys()
        bare = re.sub(r", ?\$\w+\)|\$\{\w+:singlequote\}", "", sql)  # the first is of $__conditionalAll
        assert all(name.startswith("__") for name in re.findall(r"\$\{?(\w+)", bare))
        assert "[[" not in sql  # Grafana's old way to write a variable
        assert not re.search(r"(?<!\$)\{[a-z]\w*\}", sql), "a parameter of an include is missing"
        assert "-- include" not in sql


@each_board
def test_every_board_has_the_variables_and_they_have_no_id(board: dict[str, Any]) -> None:
    """Grafana 9 stores variables with the same id as one."""
    of_all = {"datasource", "service", "kind", "host", "version", "environment", "filter", "walltime_url"}
    assert of_all <= variables(board).keys()
    assert not [each for each in board["templating"]["list"] if "id" in each]


@each_board
def test_links_lead_to_dashboards_there_are_and_set_variables_they_have(board: dict[str, Any]) -> None:
    for url in links([panel["fieldConfig"] for panel in panels(board)]):
        if url.startswith("${walltime_url}/"):
            continue
        path, _, query = url.partition("?")
        target = BOARDS[path.removeprefix("/d/")]
        of_target = variables(target).keys()
        assert set(re.findall(r"var-(\w+)=", query)) <= of_target
        assert set(re.findall(r"\$\{(\w+):queryparam\}", query)) <= of_target & variables(board).keys()
        others = re.findall(r"\$\{(\w+)(?![\w:]*:queryparam)[^}]*\}", query)
        assert set(others) <= BUILT_IN
        assert all(":percentencode}" in use for use in re.findall(r"=(\$\{[^}]*\})", query)), url


@each_board
def test_one_gets_to_every_board_and_to_the_same_time_in_walltimes_pages(board: dict[str, Any]) -> None:
    boards, pages = board["links"]
    assert boards["tags"] == ["walltime"]
    assert "walltime" in board["tags"]
    assert pages["url"] == "${walltime_url}/grafana"
    assert all(each["keepTime"] and each["includeVars"] for each in (boards, pages))


@each_board
def test_nothing_is_newer_than_the_oldest_grafana(board: dict[str, Any]) -> None:
    assert board["schemaVersion"] <= 37, "Grafana 9.5 does not know newer ones"


@pytest.mark.parametrize("panel", every_panel("timeseries"))
def test_failures_are_red_and_never_stacked(panel: dict[str, Any]) -> None:
    custom = panel["fieldConfig"]["defaults"]["custom"]
    sql = panel["targets"][0]["rawSql"]
    if re.search(r'AS "?(failed|errors)"?\b', sql.rpartition("FROM")[0]) and "series" not in sql:
        assert custom["stacking"]["mode"] == "none"
    if custom["stacking"]["mode"] == "normal":
        assert custom["lineWidth"] == 0, "a border would paint series of zeros upon the others"
    elif custom["drawStyle"] == "line":
        assert custom["fillOpacity"] == 0, "fill below many lines is mud"
