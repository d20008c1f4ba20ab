"""Where there is nothing to see the dashboards say why and what to do; nowhere is a NaN."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from shop.services import fast_folder

from dashboards.colours import WARNING
from dashboards.source import sql
from tests.by_day import by_day
from tests.dashboards.conftest import BUYER_TRACE_ID, Grafana
from tests.dashboards.grafana import Range, dashboards, every_panel, looks, panels, panels_by_day, questions
from tests.servers import Collector

STATUS = {uid: panels(board)[0] for uid, board in dashboards().items()}
NOWHERE: dict[str, Any] = {"kind": ["GET /nowhere"]}
UNKNOWN_ID = "d" * 32


def says(grafana: Grafana, uid: str, **chosen: Any) -> str:
    (line,) = grafana.ask(STATUS[uid]["targets"][0]["rawSql"], "4", chosen).column("sentence")
    return str(line)


def odd_numbers(grafana: Grafana, sql: str, **chosen: Any) -> set[str]:
    """NaN and infinities in the answer; JSON would have NULL for them, Grafana's plugin asks for another format."""
    text = grafana.fetch(grafana.expanded(sql, "4", chosen), "TabSeparated").text
    return {"nan", "inf", "-inf"} & set(re.split(r"[\t\n]", text))


@pytest.fixture(scope="module")
def empty() -> Iterator[Grafana]:
    """A collector nobody ever sent anything to."""
    folder = fast_folder()
    try:
        with Collector(folder / "collector", clickhouse_http="127.0.0.1:0") as collector:
            url = "http://" + re.findall(r"clickhouse=(\S+)", collector.ready)[0]
            yield Grafana(url, ("grafana", ""), Range(1_790_000_000, 1_790_003_600, interval_s=10))
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(("uid", "board"), by_day(dashboards().items(), 4))
def test_an_empty_database_draws_nothing_that_is_not_a_number(empty: Grafana, uid: str, board: dict[str, Any]) -> None:
    assert odd_numbers(empty, "SELECT 0 / 0") == {"nan"}
    for name, question in questions(board).items():
        assert odd_numbers(empty, question) == set(), name


@pytest.mark.parametrize("panel", panels_by_day())
def test_nor_does_a_choice_without_transactions(grafana: Grafana, panel: dict[str, Any]) -> None:
    assert odd_numbers(grafana, panel["targets"][0]["rawSql"], **NOWHERE, trace_id=UNKNOWN_ID) == set()
    long_ago = replace(grafana, shown=Range(1_700_000_000, 1_700_003_600, interval_s=10))
    assert odd_numbers(long_ago, panel["targets"][0]["rawSql"]) == set()


@pytest.mark.parametrize("uid", STATUS)
def test_an_empty_database_says_how_to_send_the_first_transaction(empty: Grafana, uid: str) -> None:
    line = says(empty, uid)
    assert line.startswith("No transaction is stored yet.")
    assert "OTEL_SERVICE_NAME=shop walltime-run " in line
    assert "walltime doctor" in line


OF_KINDS = [uid for uid, panel in STATUS.items() if panel["targets"][0]["rawSql"] == sql("status")]


@pytest.mark.parametrize("uid", by_day(OF_KINDS, 2))
def test_what_is_shown_is_counted_and_a_time_or_a_choice_without_transactions_says_so(
    grafana: Grafana, uid: str
) -> None:
    ((transactions, services, kinds),) = grafana.ask_raw(
        "SELECT count(), uniqExact(service), uniqExact(service, name) FROM transactions"
    ).rows
    assert says(grafana, uid) == f"{transactions:,} transactions of {services} services and {kinds} kinds"
    assert says(grafana, uid, **NOWHERE).startswith("No transaction of what is chosen above. There are others")
    earlier = replace(grafana, shown=Range(1_700_000_000, 1_700_003_600, interval_s=10))
    assert says(earlier, uid) == "No transaction in this time. Choose a longer one."


def test_the_last_transaction_is_a_time_that_grafana_writes_in_the_zone_of_the_viewer(grafana: Grafana) -> None:
    status = STATUS["walltime-start"]
    ((last,),) = grafana.ask_raw("SELECT max(started_at) FROM transactions").rows
    assert grafana.ask(status["targets"][0]["rawSql"]).column("last began") == [last]
    assert looks(status)["last began"]["unit"].startswith("time:")


def test_the_transaction_dashboard_says_which_request_it_shows_or_why_none(grafana: Grafana) -> None:
    uid = "walltime-transaction"
    given = says(grafana, uid, trace_id=f"00-{BUYER_TRACE_ID}-00000000000000a1-01")
    assert given == f"Request GET /recommendations of shop, with 1 more of other services. Trace {BUYER_TRACE_ID}"
    assert re.match(r"The slowest of what is chosen above: .* Trace [0-9a-f]{32}$", says(grafana, uid))
    assert says(grafana, uid, trace_id=UNKNOWN_ID).startswith(f"No transaction has the trace id {UNKNOWN_ID}.")
    assert says(grafana, uid, trace_id="it's 42").startswith("No trace id is above. The slowest: ")
    assert says(grafana, uid, **NOWHERE).startswith("No transaction of what is chosen above in this time")


@pytest.mark.parametrize("uid", STATUS)
def test_what_is_missing_looks_different(uid: str) -> None:
    properties = looks(STATUS[uid])["sentence"]
    assert properties["custom.cellOptions"]["type"] == "color-text"
    (mapping,) = properties["mappings"]
    pattern = re.fullmatch("/(.*)/", mapping["options"]["pattern"])
    assert mapping["type"] == "regex"
    assert mapping["options"]["result"]["color"] == WARNING
    assert pattern is not None
    assert re.match(pattern[1], "No transaction is stored yet.")
    assert not re.match(pattern[1], "Request 7d5a")


@pytest.mark.parametrize("panel", every_panel())
def test_no_text_for_missing_values_fills_the_empty_cells_of_tables(panel: dict[str, Any]) -> None:
    if panel["type"] in ("table", "timeseries"):
        assert "noValue" not in panel["fieldConfig"]["defaults"]
    if panel["type"] == "stat":
        assert panel["fieldConfig"]["defaults"]["noValue"] == "–"
