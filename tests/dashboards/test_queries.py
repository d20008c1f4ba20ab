"""Every question of every board, asked on the shop's real data as plugin 4 asks it; plugin 3.3 asks the same."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

import pytest
from walltime_collector.cli.drawing.bars import COLOURS
from walltime_collector.query.components import FAMILIES

from dashboards.colours import APPLICATION
from dashboards.source import STEP_S, sql
from tests.dashboards.conftest import Grafana
from tests.dashboards.grafana import ALL, PLUGINS, dashboards, looks, panels_by_day, questions
from tests.servers import over_http

BOARDS = dashboards()
ASIDE = [
    pytest.param(question, name, id=f"{uid.removeprefix('walltime-')}: {name}")
    for uid, board in BOARDS.items()
    for name, question in questions(board).items()
    if name.startswith(("$", "@"))
]
"""Variables and annotations."""
CHOICES: dict[str, dict[str, str | list[str]]] = {
    "all": {},
    "one service, two kinds": {"service": ["shop"], "kind": ["GET /recommendations", "GET /product/{id}"]},
}
HOSTILE = ['it\'s "odd"', "a,b", "C:\\dir", "$kind", "${service:raw}", "') OR 1=1 --", "a=b=c", "é=\u200b"]
TIME = re.compile(r"DateTime(64)?(\(|$)")
NUMBER = re.compile(r"(Nullable\()?(U?Int|Float)\d+\)?$")
TEXT = re.compile(r"(LowCardinality\()?String\)?$")
NOT_OF_THE_SHOP = ("$version", "$old_version", "$new_version", "$environment", "@")
"""Questions that the shop's data has no answer to."""


def test_both_plugins_ask_the_same(grafana: Grafana) -> None:
    """Each finds the same macros in every question, and all that are used mean the same in the words of both."""
    for name, question in ((name, each) for board in BOARDS.values() for name, each in questions(board).items()):
        assert set(re.findall(r"\$__(\w+)", question)) <= {"fromTime", "toTime", "interval_s", "conditionalAll", "all"}
        assert grafana.expanded(question, "3.3", words="4") == grafana.expanded(question), name
    macros = "SELECT $__fromTime AS first, $__toTime AS last, $__interval_s AS seconds"
    first, second = (grafana.ask(macros, plugin) for plugin in PLUGINS)
    assert first == second


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("panel", panels_by_day())
def test_a_panel_draws(grafana: Grafana, panel: dict[str, Any], choice: str) -> None:
    query = panel["targets"][0]["rawSql"]
    answer = grafana.ask_panel(panel, "4", CHOICES[choice])
    assert answer.rows or "other_1m" in query, "no data"  # what samples find is chance
    if panel["type"] in ("timeseries", "stat", "heatmap"):
        draws_over_time(panel, answer.columns, answer.rows)
    if panel["type"] == "table":
        assert list(answer.columns) == list(looks(panel)), 'a column that a table shows is called AS "name"'
    kinds = (re.compile(r"(Nullable\()?DateTime(64)?\b"), NUMBER, TEXT, re.compile("Bool"))
    assert all(any(each.search(kind) for each in kinds) for kind in answer.columns.values()), answer.columns
    # a column of this name makes plugin 4 put links of its own on it, and on every span of a trace
    assert not {name.lower() for name in answer.columns} & {"traceid", "trace_id"}
    assert set(re.findall(r"__data\.fields\.(\w+)", str(panel["fieldConfig"]))) <= set(answer.columns)


def draws_over_time(panel: dict[str, Any], columns: dict[str, str], rows: Sequence[Sequence[Any]]) -> None:
    """A time, texts that name the series, numbers; in order of time, each point once; the place says the order."""
    (time, kind), *others = columns.items()
    assert time == "time"
    assert TIME.match(kind)
    series = [name for name, kind in others if kind == "String"]  # what both plugins make labels of
    numbers = [name for name, _ in others if name not in series]
    assert [name for name, kind in others if NUMBER.match(kind)] == numbers
    for each in panel.get("transformations", ()):
        pattern = each["options"]["include"]["pattern"]
        assert pattern == f"/^([tT]ime|{'|'.join(numbers)})( \\{{.*)?$/", "of several columns only some are drawn"
    named = re.findall(r"__field\.labels\.(\w+)", panel["fieldConfig"]["defaults"].get("displayName", ""))
    assert set(named) <= set(series)
    assert series[:1] in ([], ["place"]), "the plugin's server sorts the series by the first text"
    times = [row[0] for row in rows]
    assert times == sorted(times)
    points = [tuple(row[: 1 + len(series)]) for row in rows]
    assert len(points) == len(set(points))


@pytest.mark.parametrize(("question", "name"), ASIDE)
def test_variables_and_annotations_have_the_columns_grafana_reads(grafana: Grafana, question: str, name: str) -> None:
    answer = grafana.ask(question)
    if name.startswith("$"):
        ((_, kind),) = answer.columns.items()
        assert TEXT.match(kind)
    else:
        assert {"time", "title", "text", "tags"} <= set(answer.columns) <= {"time", "timeEnd", "title", "text", "tags"}
    assert answer.rows or name.startswith(NOT_OF_THE_SHOP)


def test_what_is_chosen_stays_a_value(grafana: Grafana) -> None:
    for variable in ("service", "kind", "host", "version", "environment"):
        assert grafana.ask(sql("kinds"), "4", {variable: HOSTILE}).rows == []
    for name in HOSTILE:
        if "=" in name:
            assert grafana.ask(sql("kinds"), "4", {"filter": name}).rows == []
    assert grafana.ask(sql("transaction/bill"), "4", {"trace_id": "".join(HOSTILE), "kind": HOSTILE}).rows == []


def test_hosts_and_annotations_filter(grafana: Grafana) -> None:
    (host,) = grafana.ask(sql("variables/host")).column("host")
    everything = grafana.ask(sql("kinds")).by_name()
    of_host = grafana.ask(sql("kinds"), "4", {"host": [host]}).by_name()
    assert [row["transactions"] for row in of_host] == [row["transactions"] for row in everything]
    ((key, value, transactions),) = grafana.ask_raw(
        "SELECT key, value, count() FROM transactions "
        "ARRAY JOIN mapKeys(attributes) AS key, mapValues(attributes) AS value WHERE position(value, '=') = 0 "
        "GROUP BY key, value ORDER BY count() DESC, key LIMIT 1"
    ).rows
    filtered = grafana.ask(sql("kinds"), "4", {"filter": f" {key} = {value} "}).by_name()
    assert sum(row["transactions"] for row in filtered) == transactions


@pytest.mark.parametrize("name", ["response_time/breakdown", "kind/breakdown"])
def test_the_parts_of_a_breakdown_add_up_to_the_mean_response_time(grafana: Grafana, name: str) -> None:
    parts: dict[str, float] = {}
    answer = grafana.ask(sql(name))
    for row in answer.by_name():
        parts[row["time"]] = parts.get(row["time"], 0.0) + (row["ns"] or 0)
    wide_s = seconds_between(list(parts))
    means = grafana.ask(
        f"SELECT toStartOfInterval(started_at, INTERVAL {wide_s} second) AS time, "
        "avg(greatest(duration_ns, covered_ns)) AS ns "
        "FROM transactions WHERE $__timeFilter(started_at) GROUP BY time ORDER BY time"
    )
    assert [parts[time] for time in means.column("time")] == pytest.approx(means.column("ns"), rel=1e-6)
    assert sum(parts.values()) == pytest.approx(sum(means.column("ns")), rel=1e-6)


def seconds_between(times: Sequence[str]) -> int:
    return int(times[1][-2:]) - int(times[0][-2:]) or 60


def test_series_are_in_the_order_of_families_the_largest_component_first_and_others_last(grafana: Grafana) -> None:
    families = [APPLICATION if name == "custom" else name for name in FAMILIES]
    rows = grafana.ask(sql("response_time/breakdown")).by_name()
    order = list(dict.fromkeys(row["family"] for row in sorted(rows, key=lambda row: len(row["place"]))))
    known = [name for name in order if name != "(others)"]
    assert known == sorted(known, key=families.index)
    assert len(known) > 3
    assert "(others)" not in order[:-1]
    components = grafana.ask(sql("kind/breakdown")).by_name()
    order = list(dict.fromkeys(row["component"] for row in sorted(components, key=lambda row: len(row["place"]))))
    assert order[0].startswith("mysql.")
    assert "(others)" not in order[:-1]


def test_the_families_are_those_of_pages_and_commands(grafana: Grafana) -> None:
    rows = grafana.ask_raw("SELECT family, colour FROM families ORDER BY position").rows
    assert rows == [[APPLICATION if name == "custom" else name, COLOURS[name]] for name in FAMILIES]


def test_bars_are_pictures_in_the_colours_of_the_families(grafana: Grafana) -> None:
    rows = grafana.ask(sql("kinds")).by_name()
    pictures = [
        base64.b64decode(row["time by family"].removeprefix("data:image/svg+xml;base64,")).decode() for row in rows
    ]
    ends = []
    for picture in pictures:
        parts = re.findall(r'x="([\d.]+)" width="([\d.]+)" fill="(#\w{6})"', picture)
        assert [colour for *_, colour in parts] == list(COLOURS.values())
        ends.append(max(float(x) + float(width) for x, width, _ in parts))
    assert ends[0] == max(ends) == pytest.approx(150, abs=0.5)
    for row, end in zip(rows, ends, strict=True):
        assert end / 150 == pytest.approx(row["share"] / rows[0]["share"], abs=0.01)


def test_the_average_transaction_adds_up(grafana: Grafana) -> None:
    kinds = grafana.ask(sql("kinds")).by_name()
    mean = sum(row["mean"] * row["transactions"] for row in kinds) / sum(row["transactions"] for row in kinds)
    bill = grafana.ask(sql("response_time/components")).by_name()
    assert sum(row["time"] for row in bill) == pytest.approx(mean, rel=1e-6)
    assert sum(row["share"] for row in bill) == pytest.approx(1, rel=1e-6)
    assert sum(row["share"] for row in kinds) == pytest.approx(1, rel=1e-6)
    compared = {row["component"]: row for row in grafana.ask(sql("kind/components")).by_name()}
    assert {name: row["per transaction"] for name, row in compared.items()} == {
        row["component"]: row["time"] for row in bill
    }


def test_the_time_before_is_compared_with_the_time_shown(grafana: Grafana) -> None:
    """The second half of the shop's visits against the first half."""
    shown = grafana.shown
    half_s = (shown.from_s + shown.to_s) // (2 * STEP_S) * STEP_S
    later = Grafana(grafana.url, grafana.user, type(shown)(half_s, shown.to_s, shown.interval_s))
    earlier = Grafana(grafana.url, grafana.user, type(shown)(2 * half_s - shown.to_s, half_s, shown.interval_s))
    before = {row["component"]: row for row in earlier.ask(sql("response_time/components")).by_name()}
    rows = [row for row in later.ask(sql("kind/components")).by_name() if row["component"] in before]
    assert len(rows) > 3
    for row in rows:
        assert row["before"] == pytest.approx(before[row["component"]]["time"], rel=1e-6)
        assert row["change"] == pytest.approx(row["per transaction"] / row["before"] - 1, rel=1e-6)
    tiles = later.ask(sql("summary")).by_name()
    (p95,) = {row["tile"] for row in tiles if row["tile"].startswith("p95")}
    assert re.fullmatch(r"p95( [+−]\d+ %| ×\d+)?", p95)


def test_a_tile_shows_the_number_of_the_whole_time(grafana: Grafana) -> None:
    last = grafana.ask(sql("summary")).by_name()[-7:]
    tiles = {row["tile"].partition(" ")[0]: row["value"] for row in last}
    ((mean, longest, failed),) = grafana.ask_raw(
        "SELECT avg(duration_ns), max(duration_ns), countIf(is_error) / count() FROM transactions"
    ).rows
    assert (tiles["longest"], tiles["failed"]) == (longest, failed)
    assert tiles["mean"] == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "column", "spent"),
    [
        ("response_time/load", "busy", "greatest(duration_ns, covered_ns)"),
        ("mysql/load", "active", "arraySum([COLUMNS('^mysql_.+_time_ns$')])"),
    ],
)
def test_load_times_time_is_the_time_spent(grafana: Grafana, name: str, column: str, spent: str) -> None:
    ((total_s,),) = grafana.ask(f"SELECT sum({spent}) / 1e9 FROM transactions WHERE $__timeFilter(started_at)").rows
    answer = grafana.ask(sql(name))
    load = sum(answer.column(column)) * seconds_between(sorted(set(answer.column("time"))))
    assert load == pytest.approx(
        total_s, rel=0.2 if name.startswith("resp") else 1e-6
    )  # a point may stick out of the time


def test_a_board_has_the_numbers_of_the_page_of_the_same_time(grafana: Grafana) -> None:
    page = over_http("GET", grafana.pages + "/.json", params={"time": grafana.window}).json()
    of_page = {(kind["service"], kind["name"]): kind for kind in page["top"]["kinds"]}
    rows = grafana.ask(sql("kinds")).by_name()
    assert {(row["service"], row["kind"]) for row in rows} == of_page.keys()
    for row in rows:
        kind = of_page[row["service"], row["kind"]]
        assert row["transactions"] == kind["transactions"]
        assert row["longest"] == kind["max_ns"]
        assert row["mean"] == pytest.approx(kind["mean_ns"], abs=1)
        assert row["p95"] == pytest.approx(kind["p95_ns"], rel=0.02)
        assert row["share"] == pytest.approx(kind["share"], rel=1e-6)


def test_plugin_3s_filter_by_milliseconds_finds_nothing_which_is_why_nothing_uses_it(grafana: Grafana) -> None:
    count = "SELECT count() FROM transactions WHERE $__timeFilter_ms(started_at)"
    assert grafana.ask(count, "3.3").rows == [[0]]
    assert grafana.ask(count, "4").rows[0][0] > 0
    assert not any("_ms(" in question for board in BOARDS.values() for question in questions(board).values())


@pytest.mark.parametrize("panel", panels_by_day("table"))
def test_ids_in_tables_are_those_of_transactions(grafana: Grafana, panel: dict[str, Any]) -> None:
    stored = {trace for (trace,) in grafana.ask_raw("SELECT DISTINCT lower(hex(trace_id)) FROM transactions").rows}
    answer = grafana.ask_panel(panel)
    for column in [name for name, look in looks(panel).items() if "/d/walltime-transaction?" in str(look)]:
        ids = {trace for trace in answer.column(column) if trace}
        assert ids
        assert ids <= stored


def test_choosing_a_kind_leaves_only_its_transactions(grafana: Grafana) -> None:
    ((everything,),) = grafana.ask_raw("SELECT count() FROM transactions").rows
    rows = grafana.ask(sql("kinds")).by_name()
    assert sum(row["transactions"] for row in rows) == everything
    for row in rows[:3]:
        (only,) = grafana.ask(sql("kinds"), "4", {"service": [row["service"]], "kind": [row["kind"]]}).by_name()
        assert only == {**row, "share": 1, "time by family": only["time by family"]}
    assert grafana.ask(sql("kinds"), "4", {"service": [ALL], "kind": ["GET /nowhere"]}).rows == []
