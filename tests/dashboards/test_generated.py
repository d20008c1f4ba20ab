"""The generated dashboards hang together: current, complete, nothing dangling, nothing on top of something else."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import pytest

from tests.dashboards.grafana import GENERATED, dashboards, panels
from tests.dashboards.grafana import variables as variables_in_grafana_9_4

BOARDS = dashboards()
PROVISIONING = GENERATED.parent / "provisioning"
BUILT_IN = {"__url_time_range", "__value", "__data", "__field"}
each_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)


def variables(board: dict[str, Any]) -> set[str]:
    return {variable["name"] for variable in board["templating"]["list"]}


def links(value: Any) -> list[str]:
    """All urls anywhere below."""
    if isinstance(value, dict):
        return [url for each in value.values() for url in links(each)] + ([value["url"]] if value.get("url") else [])
    return [url for each in value for url in links(each)] if isinstance(value, list) else []


def test_the_generated_files_are_what_the_code_makes() -> None:
    build = pytest.importorskip("dashboards.build", reason="grafana-foundation-sdk wants Python 3.11")
    files = {path.name: path.read_text("utf-8") for path in GENERATED.glob("*.json")}
    assert files == build.documents(), "run: make dashboards"


def test_every_query_file_is_asked_somewhere() -> None:
    asked = {panel["targets"][0]["rawSql"] for board in BOARDS.values() for panel in panels(board)}
    asked |= {variable["query"] for board in BOARDS.values() for variable in board["templating"]["list"]}
    asked |= {layer["target"]["rawSql"] for board in BOARDS.values() for layer in board["annotations"]["list"]}
    source = pytest.importorskip("dashboards.source", reason="grafana-foundation-sdk wants Python 3.11")
    names = [str(path.relative_to(source.QUERIES))[: -len(".sql")] for path in source.QUERIES.rglob("[!_]*.sql")]
    assert [name for name in names if source.sql(name) not in asked] == []


@each_board
def test_panels_have_ids_of_their_own_and_do_not_overlap(board: dict[str, Any]) -> None:
    assert [panel["id"] for panel in board["panels"]] == list(range(1, len(board["panels"]) + 1))
    for panel in board["panels"]:
        at = panel["gridPos"]
        assert 0 <= at["x"] < at["x"] + at["w"] <= 24
        assert at["h"] > 0
    for one, other in combinations([panel["gridPos"] for panel in board["panels"]], 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below, (one, other)


@each_board
def test_every_panel_is_described_and_asks_the_provisioned_source(board: dict[str, Any]) -> None:
    for panel in panels(board):
        assert panel["description"]
        assert panel["title"] or panel["type"] == "stat" or panel["options"]["showHeader"] is False
        for target in [panel, *panel["targets"]]:
            assert target["datasource"] == {"type": "grafana-clickhouse-datasource", "uid": "walltime"}
    for variable in board["templating"]["list"]:
        assert variable["type"] == "textbox" or variable["datasource"]["uid"] == "walltime"
    assert re.search(r"^ +uid: walltime\b", (PROVISIONING / "datasources" / "walltime.yaml").read_text(), re.MULTILINE)


@each_board
def test_targets_speak_to_plugin_3_and_plugin_4(board: dict[str, Any]) -> None:
    for panel in panels(board):
        (target,) = panel["targets"]
        assert target["format"] == target["selectedFormat"] == {"timeseries": 0, "traces": 3}.get(panel["type"], 1)
        assert (target["queryType"], target["editorType"]) == ("sql", "sql")
        assert target["pluginVersion"].startswith("4.")
    for variable in board["templating"]["list"]:
        assert isinstance(variable["query"], str)  # plugin 3 and 4 take the bare statement


@each_board
def test_every_variable_used_exists_and_is_quoted(board: dict[str, Any]) -> None:
    for sql in [panel["targets"][0]["rawSql"] for panel in panels(board)]:
        used = set(re.findall(r"\$\{(\w+):singlequote\}", sql))
        assert set(re.findall(r"\$\{?(\w+)", sql)) - used <= set(re.findall(r"\$(__\w+)", sql)) | used
        assert used <= variables(board)
        assert "[[" not in sql  # Grafana's old way to write a variable


@each_board
def test_grafana_9_4_knows_every_variable_after_it_has_read_the_dashboard(board: dict[str, Any]) -> None:
    assert set(variables_in_grafana_9_4(board)) == variables(board)
    ids = [variable["id"] for variable in board["templating"]["list"] if "id" in variable]
    assert len(ids) == len(set(ids))


@each_board
def test_links_lead_to_dashboards_there_are_and_set_variables_they_have(board: dict[str, Any]) -> None:
    found = [url for panel in panels(board) for url in links(panel["fieldConfig"])]
    for url in found:
        path, _, query = url.partition("?")
        target = BOARDS[path.removeprefix("/d/")]
        assert set(re.findall(r"var-(\w+)=", query)) <= variables(target)
        assert set(re.findall(r"\$\{(\w+)", query)) <= BUILT_IN
        assert all(":percentencode}" in use for use in re.findall(r"=(\$\{[^}]*\})", query)), url


@each_board
def test_what_old_and_new_grafanas_name_differently_is_said_twice(board: dict[str, Any]) -> None:
    """Grafana before 9.5 reads how a cell looks from displayMode, later ones from cellOptions."""
    assert board["schemaVersion"] <= 37, "Grafana 9.4 does not know newer ones"
    for panel in panels(board):
        for rule in panel["fieldConfig"].get("overrides", []):
            said = {each["id"]: each["value"] for each in rule["properties"]}
            assert ("custom.displayMode" in said) is ("custom.cellOptions" in said)
            if "custom.cellOptions" in said:
                new = said["custom.cellOptions"]
                assert said["custom.displayMode"] == {"gauge": new.get("mode")}.get(new["type"], new["type"])


def test_one_gets_from_everywhere_to_a_transaction() -> None:
    for uid in ("walltime-response-time", "walltime-servers", "walltime-transaction"):
        assert any("/d/walltime-transaction?" in url for url in links([p["fieldConfig"] for p in panels(BOARDS[uid])]))
        assert BOARDS[uid]["links"][0]["tags"] == ["walltime"]
        assert "walltime" in BOARDS[uid]["tags"]
