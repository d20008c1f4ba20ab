"""Every question of every panel and variable, asked on the shop's real data as plugin 3.3 and 4 ask it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.by_day import by_day
from tests.dashboards.conftest import BUYER_TRACE_ID, Answer, Grafana
from tests.dashboards.grafana import ALL, Plugin, dashboards, panels

BOARDS = dashboards()
PANELS = [
    pytest.param(panel, id=f"{uid.removeprefix('walltime-')}: {panel['title'] or 'tiles'}")
    for uid, board in BOARDS.items()
    for panel in panels(board)
]
VARIABLES = [
    pytest.param(variable["query"], id=f"{uid.removeprefix('walltime-')}: ${variable['name']}")
    for uid, board in BOARDS.items()
    for variable in board["templating"]["list"]
    if variable["type"] == "query"
]
CHOICES: dict[str, dict[str, str | list[str]]] = {
    "all": {},
    "one service, two kinds": {"service": ["shop"], "kind": ["GET /recommendations", "GET /product/{id}"]},
}
each_plugin = pytest.mark.parametrize("plugin", ["3.3", "4"])
TIME = re.compile(r"DateTime(64)?(\(|$)")
NUMBER = re.compile(r"(Nullable\()?(U?Int|Float)\d+\)?$")
TEXT = re.compile(r"(LowCardinality\()?String\)?$")
SPAN = {
    **dict.fromkeys(("traceID", "spanID", "parentSpanID", "serviceName", "operationName"), str),
    **dict.fromkeys(("startTime", "duration"), float),
    **dict.fromkeys(("tags", "serviceTags"), list),
    "kind": str,
    "statusCode": int,
}
"""What Grafana's trace panel needs; `extractFields` makes a column of each key."""


def sql(uid: str, name: str) -> str:
    """The statement of the panel whose statement's comment starts so."""
    (found,) = {
        panel["targets"][0]["rawSql"] for panel in panels(BOARDS[uid]) if panel["targets"][0]["rawSql"].startswith(name)
    }
    return str(found)


BREAKDOWN = sql("walltime-response-time", "-- What does the average transaction spend")
COMPONENTS = sql("walltime-response-time", "-- What does the average transaction's bill")
LOAD = sql("walltime-response-time", "-- How many transactions are busy")
KINDS = sql("walltime-response-time", "-- Which kinds")
SUMMARY = sql("walltime-response-time", "-- How is it going")
MYSQL_LOAD = sql("walltime-servers", "-- How many statements does MySQL")
TRANSACTIONS = sql("walltime-transaction", "-- Which transactions belong")
BILL = sql("walltime-transaction", "-- Where did the wall time")
SPANS = sql("walltime-transaction", "-- The request as Grafana")


@pytest.mark.parametrize("name", ["Incidents", "Servers"])
@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_incidents_and_events_of_servers_are_annotations(grafana: Grafana, board: dict[str, Any], name: str) -> None:
    """Without one there are the columns that Grafana makes annotations of."""
    (layer,) = [each for each in board["annotations"]["list"] if each["name"] == name]
    answer = grafana.ask(layer["target"]["rawSql"], "4")
    assert list(answer.columns) == ["time", "timeEnd", "title", "text", "tags"]
    assert answer == grafana.ask(layer["target"]["rawSql"], "3.3")


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("panel", by_day(PANELS, 4))
def test_a_panel_draws_and_the_same_with_both_plugins(grafana: Grafana, panel: dict[str, Any], choice: str) -> None:
    query = panel["targets"][0]["rawSql"]
    answer = grafana.ask(query, "4", CHOICES[choice])
    assert answer == grafana.ask(query, "3.3", CHOICES[choice])
    assert answer.rows, "no data"
    if panel["type"] == "timeseries":
        draws_over_time(panel, answer.columns, answer.rows)
    if panel["type"] == "stat":
        assert len(answer.rows) == 1
    if panel["type"] == "traces":
        (transformation,) = panel["transformations"]
        assert transformation == {
            "id": "extractFields",
            "options": {"source": "span", "format": "json", "replace": True},
        }
        for span in spans(answer):
            assert {name: type(value) for name, value in span.items()} == SPAN
    shown = (*(TIME, NUMBER, TEXT), re.compile("Bool"))
    assert all(any(each.match(kind) for each in shown) for kind in answer.columns.values()), answer.columns
    # a column of this name makes plugin 4 put links of its own on it, and on every span of a trace
    assert not {name.lower() for name in answer.columns} & {"traceid", "trace_id"}
    names = {rule["matcher"]["options"] for rule in overrides(panel) if rule["matcher"]["id"] == "byName"}
    assert names <= set(answer.columns)
    assert set(re.findall(r"__data\.fields\.(\w+)", str(panel["fieldConfig"]))) <= set(answer.columns)


def spans(answer: Answer) -> list[dict[str, Any]]:
    """The rows of the trace panel after its transformation, `extractFields` of one column of JSON."""
    assert list(answer.columns) == ["span"]
    found = [json.loads(text) for text in answer.column("span")]
    return [{**span, **{name: float(span[name]) for name in ("startTime", "duration")}} for span in found]


def overrides(panel: dict[str, Any]) -> list[dict[str, Any]]:
    return list(panel["fieldConfig"].get("overrides", []))


def draws_over_time(panel: dict[str, Any], columns: dict[str, str], rows: list[list[Any]]) -> None:
    """A time, at most one text that names the series, numbers; in order, each point once."""
    (time, kind), *others = columns.items()
    assert time == "time"
    assert TIME.match(kind)
    series = [name for name, kind in others if kind == "String"]  # what both plugins make labels of
    assert len(series) <= 1
    assert [name for name, kind in others if NUMBER.match(kind)] == [name for name, _ in others if name not in series]
    named = panel["fieldConfig"]["defaults"].get("displayName")
    assert named == (f"${{__field.labels.{series[0]}}}" if series else None)
    times = [row[0] for row in rows]
    assert times == sorted(times)
    points = [tuple(row[: 1 + len(series)]) for row in rows]
    assert len(points) == len(set(points))


@each_plugin
@pytest.mark.parametrize("query", VARIABLES)
def test_a_variable_has_something_to_choose(grafana: Grafana, query: str, plugin: Plugin) -> None:
    answer = grafana.ask(query, plugin)
    ((_, kind),) = answer.columns.items()
    assert TEXT.match(kind)
    assert len(answer.rows) >= 2


@pytest.mark.parametrize("name", ['it\'s "odd"', "a,b", "C:\\dir", "$kind", "${service:raw}", "') OR 1=1 --"])
def test_what_is_chosen_stays_a_value(grafana: Grafana, name: str) -> None:
    assert grafana.ask(KINDS, "4", {"kind": [name]}).rows == []
    assert grafana.ask(BILL, "4", {"trace_id": name, "kind": [name]}).rows == []


def test_the_parts_of_the_breakdown_add_up_to_the_mean_response_time(grafana: Grafana) -> None:
    means = grafana.ask(
        "SELECT $__timeInterval(started_at) AS time, avg(greatest(duration_ns, covered_ns)) / 1e6 AS ms "
        "FROM transactions WHERE $__timeFilter(started_at) GROUP BY time ORDER BY time"
    )
    parts: dict[str, float] = {}
    for row in grafana.ask(BREAKDOWN).by_name():
        if row["ms"] is None:  # an interval without transactions
            continue
        parts[row["time"]] = parts.get(row["time"], 0.0) + row["ms"]
    assert list(parts) == means.column("time")
    assert list(parts.values()) == pytest.approx(means.column("ms"), rel=1e-6)


def test_the_breakdown_has_the_components_of_the_bill_in_every_interval(grafana: Grafana) -> None:
    answer = grafana.ask(BREAKDOWN)
    components = [row["component"] for row in grafana.ask(COMPONENTS).by_name()]
    assert {"mysql.query", "memcache.get", "http.request", "render", "other"} <= set(components)
    assert set(answer.column("component")) == set(components)
    assert len(answer.rows) == len(components) * len(set(answer.column("time")))
    first = [row["component"] for row in answer.by_name() if row["time"] == answer.rows[0][0]]
    assert first[0].startswith("mysql.")
    assert first[-1] == "other"


def test_the_average_bill_adds_up(grafana: Grafana) -> None:
    (summary,) = grafana.ask(SUMMARY).by_name()
    bill = grafana.ask(COMPONENTS).by_name()
    assert sum(row["per transaction"] for row in bill) == pytest.approx(summary["mean"], rel=1e-6)
    assert sum(row["share"] for row in bill) == pytest.approx(1, rel=1e-6)
    assert sum(row["share"] for row in grafana.ask(KINDS).by_name()) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize(("query", "column"), [(LOAD, "busy"), (MYSQL_LOAD, "active")])
def test_load_times_time_is_the_time_spent(grafana: Grafana, query: str, column: str) -> None:
    spent = "duration_ns" if column == "busy" else "arraySum([COLUMNS('^mysql_.+_time_ns$')])"
    ((total_s,),) = grafana.ask(f"SELECT sum({spent}) / 1e9 FROM transactions WHERE $__timeFilter(started_at)").rows
    load = sum(grafana.ask(query).column(column)) * grafana.shown.interval_s
    assert load == pytest.approx(total_s, rel=1e-6)


def test_plugin_3s_filter_by_milliseconds_finds_nothing_which_is_why_nothing_uses_it(grafana: Grafana) -> None:
    count = "SELECT count() FROM transactions WHERE $__timeFilter_ms(started_at)"
    assert grafana.ask(count, "3.3").rows == [[0]]
    assert grafana.ask(count, "4").rows[0][0] > 0
    assert not any("_ms(" in panel["targets"][0]["rawSql"] for board in BOARDS.values() for panel in panels(board))


def test_the_bill_of_a_transaction_adds_up_and_the_trace_has_a_root_for_it(grafana: Grafana) -> None:
    asked = {"trace_id": BUYER_TRACE_ID}
    transactions = grafana.ask(TRANSACTIONS, "4", asked).by_name()
    assert [(row["service"], row["calls kept"]) for row in transactions] == [
        ("shop", "upstream"),
        ("supplier", "upstream"),
    ]
    for transaction in transactions:
        bill = [row for row in grafana.ask(BILL, "4", asked).by_name() if row["service"] == transaction["service"]]
        assert sum(row["time"] for row in bill) == pytest.approx(transaction["took"], rel=1e-6)
    drawn = spans(grafana.ask(SPANS, "4", asked))
    ids = {span["spanID"] for span in drawn}
    (root,) = (span for span in drawn if span["parentSpanID"] not in ids)
    assert root["operationName"] == "GET /recommendations"
    calls = {span["operationName"] for span in drawn if span["parentSpanID"] == root["spanID"]}
    assert len(calls) >= 3
    for span in drawn:
        assert root["startTime"] - 1 <= span["startTime"]
        assert span["startTime"] + span["duration"] <= root["startTime"] + root["duration"] + 1
        assert all(set(tag) == {"key", "value"} for tag in span["tags"] + span["serviceTags"])


def test_a_trace_id_can_be_pasted_in_any_form_and_none_means_the_slowest(grafana: Grafana) -> None:
    forms = (BUYER_TRACE_ID, BUYER_TRACE_ID.upper(), f"  {BUYER_TRACE_ID} ", f"00-{BUYER_TRACE_ID}-00000000000000a1-01")
    for form in forms:
        assert set(grafana.ask(TRANSACTIONS, "3.3", {"trace_id": form}).column("trace")) == {BUYER_TRACE_ID}
    (slowest,) = grafana.ask_raw("SELECT lower(hex(argMax(trace_id, duration_ns))) FROM transactions").rows[0]
    assert set(grafana.ask(TRANSACTIONS).column("trace")) == {slowest}
    assert grafana.ask(TRANSACTIONS, "4", {"trace_id": "d" * 32}).rows == []


def test_ids_in_tables_are_those_of_transactions(grafana: Grafana) -> None:
    stored = {trace for (trace,) in grafana.ask_raw("SELECT DISTINCT lower(hex(trace_id)) FROM transactions").rows}
    for uid, board in BOARDS.items():
        for panel in panels(board):
            linked = [
                rule["matcher"]["options"] for rule in overrides(panel) if "/d/walltime-transaction?" in str(rule)
            ]
            answer = grafana.ask(panel["targets"][0]["rawSql"])
            for column in linked:
                ids = [trace for trace in answer.column(column) if trace]
                assert ids, (uid, panel["title"], column)
                assert set(ids) <= stored


def test_only_caches_have_hits_and_misses(grafana: Grafana) -> None:
    for uid, start in (
        ("walltime-servers", "-- What does each server"),
        ("walltime-transaction", "-- Which servers did"),
    ):
        rows = grafana.ask(sql(uid, start)).by_name()
        assert rows
        for row in rows:
            assert row["component"].endswith((".get", ".delete")) or row["misses"] is row["hit ratio"] is None
    caches = [row for row in grafana.ask(sql("walltime-servers", "-- What does each")).by_name() if row["misses"]]
    assert {row["component"] for row in caches} >= {"memcache.get"}


def test_choosing_a_kind_leaves_only_its_transactions(grafana: Grafana) -> None:
    ((everything,),) = grafana.ask_raw("SELECT count() FROM transactions").rows
    rows = grafana.ask(KINDS).by_name()
    assert sum(row["transactions"] for row in rows) == everything
    for row in rows:
        (only,) = grafana.ask(KINDS, "4", {"service": [row["service"]], "kind": [row["kind"]]}).by_name()
        assert only == {**row, "share": 1}
    assert grafana.ask(KINDS, "4", {"service": [ALL], "kind": ["GET /nowhere"]}).rows == []
