"""A time without traffic is a gap in every mean, and 0 in every rate; nothing draws it as traffic."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.dashboards.conftest import Answer, Grafana
from tests.dashboards.grafana import dashboards, panels

OVER_TIME = {
    f"{uid.removeprefix('walltime-')}: {panel['title']}": panel
    for uid, board in dashboards().items()
    for panel in panels(board)
    if panel["type"] == "timeseries"
}
RATES = {
    "response-time: Transactions per second",
    "response-time: Load: transactions busy at once",
    "servers: Misses per second by server",
    "servers: Average active statements by kind",
    "servers: Connections opened per second",
    "servers: Calls per second by server",
}
INTERVAL_MS = 10_000
"""The shortest interval of a panel (`panels.MIN_INTERVAL`)."""
each_panel = pytest.mark.parametrize("name", OVER_TIME)


def seconds(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp())


def quiet_seconds(grafana: Grafana) -> set[int]:
    """The seconds without a transaction between the first and the last one."""
    busy = {row[0] for row in grafana.ask_raw("SELECT DISTINCT toUnixTimestamp(started_at) FROM transactions").rows}
    return set(range(min(busy), max(busy))) - busy


def numbers(answer: Answer, row: dict[str, Any]) -> list[float | None]:
    return [row[name] for name, kind in answer.columns.items() if "Float" in kind]


@each_panel
def test_a_quiet_time_is_a_gap_in_means_and_zero_in_rates(grafana: Grafana, name: str) -> None:
    answer = grafana.ask(OVER_TIME[name]["targets"][0]["rawSql"])
    times = sorted({seconds(time) for time in answer.column("time")})
    assert times == list(range(times[0], times[-1] + 1)), "rows for every interval"
    quiet = quiet_seconds(grafana) & set(times)
    assert quiet
    drawn = [value for row in answer.by_name() if seconds(row["time"]) in quiet for value in numbers(answer, row)]
    assert drawn
    assert set(drawn) <= ({0, None} if name in RATES else {None})
    assert (0 in drawn) is (name in RATES)
    shown = [value for row in answer.by_name() if seconds(row["time"]) not in quiet for value in numbers(answer, row)]
    assert any(value for value in shown)


@each_panel
def test_a_line_crosses_a_few_missing_points_and_no_more(name: str) -> None:
    """Grafana crosses NULLs while the points beside them are less than `spanNulls` milliseconds apart."""
    limit_ms = OVER_TIME[name]["fieldConfig"]["defaults"]["custom"]["spanNulls"]
    assert not isinstance(limit_ms, bool)
    assert 2 * INTERVAL_MS <= limit_ms <= 4 * INTERVAL_MS


@each_panel
def test_a_series_of_zeros_paints_no_line_on_the_areas_below_it(name: str) -> None:
    custom = OVER_TIME[name]["fieldConfig"]["defaults"]["custom"]
    if custom.get("stacking", {}).get("mode") == "normal":
        assert custom["lineWidth"] == 0


def test_failures_are_drawn_only_where_there_are_any(grafana: Grafana) -> None:
    for name in ("response-time: Transactions per second", "servers: Connections opened per second"):
        failed = grafana.ask(OVER_TIME[name]["targets"][0]["rawSql"]).column("failed")
        assert 0 not in failed
        assert None in failed
