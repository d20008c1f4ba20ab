"""A time without traffic is a gap in every mean, and 0 in every rate; nothing draws it as traffic."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from tests.dashboards.conftest import Answer, Grafana
from tests.dashboards.grafana import every_panel, panels_by_day

OF_TRANSACTIONS = [
    each
    for each in panels_by_day("timeseries")
    if not re.search("walltime_health|_status|slow_queries", each.values[0]["targets"][0]["rawSql"])
]
"""The counters of collectors have a row a minute; servers have other clients too."""


def seconds(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp())


def quiet_points(grafana: Grafana, wide_s: int) -> set[int]:
    """The points without a transaction between the first and the last one."""
    sql = f"SELECT DISTINCT intDiv(toUnixTimestamp(started_at), {wide_s}) * {wide_s} FROM transactions"
    busy = {row[0] for row in grafana.ask_raw(sql).rows}
    return set(range(min(busy), max(busy), wide_s)) - busy


def numbers(answer: Answer, row: dict[str, Any]) -> list[float | None]:
    return [row[name] for name, kind in answer.columns.items() if "Float" in kind]


@pytest.mark.parametrize("panel", OF_TRANSACTIONS)
def test_a_quiet_time_is_a_gap_in_means_and_zero_in_rates(grafana: Grafana, panel: dict[str, Any]) -> None:
    answer = grafana.ask_panel(panel)
    times = sorted({seconds(time) for time in answer.column("time")})
    wide_s = min(after - before for before, after in itertools.pairwise(times))
    assert times == list(range(times[0], times[-1] + 1, wide_s)), "rows for every point"
    quiet = quiet_points(grafana, wide_s) & set(times)
    assert quiet
    drawn = [value for row in answer.by_name() if seconds(row["time"]) in quiet for value in numbers(answer, row)]
    assert drawn
    assert set(drawn) in ({0}, {None}, {0, None})
    if panel["fieldConfig"]["defaults"]["unit"] in ("ns", "ms", "percentunit"):
        assert set(drawn) == {None}


@pytest.mark.parametrize("panel", every_panel("timeseries"))
def test_no_line_crosses_a_point_without_data(panel: dict[str, Any]) -> None:
    assert panel["fieldConfig"]["defaults"]["custom"]["spanNulls"] is False


def test_a_point_has_at_least_30_transactions_or_is_wide(grafana: Grafana) -> None:
    (panel,) = (
        each.values[0] for each in every_panel("timeseries") if each.id == "response-time: Transactions per second"
    )
    for interval_s in (1, 10):
        shown = replace(grafana, shown=replace(grafana.shown, interval_s=interval_s))
        times = sorted(map(seconds, shown.ask_panel(panel).column("time")))
        ((transactions,),) = grafana.ask_raw("SELECT count() FROM transactions").rows
        window_s = grafana.shown.to_s - grafana.shown.from_s
        wide_s = times[1] - times[0]
        assert wide_s >= interval_s
        assert wide_s * transactions / window_s >= 30 or wide_s >= window_s / 20
