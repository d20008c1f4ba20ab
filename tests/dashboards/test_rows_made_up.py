"""Boards of incidents, collectors, targets and two times, on rows that are made up for them: each number is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from walltime_collector.clickhouse.engine import Engine

from dashboards.source import sql
from tests.collector.conftest import engine  # noqa: F401  # the fixture
from tests.dashboards.grafana import ALL, Range, dashboards, expand, variables
from tests.dashboards.made_up import insert, transaction

HOUR_S = 3600
Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def now_s() -> int:
    return int(time.time()) // HOUR_S * HOUR_S


@pytest.fixture(scope="module")
def ask(engine: Engine, now_s: int) -> Ask:  # noqa: F811
    """An hour, and the hour before: GET / takes 10 ms, then 30 ms; GET /same takes 20 ms; one is new, one is gone."""
    rows = []
    for before, ms, one_sided in ((2 * HOUR_S, 10, "GET /gone"), (HOUR_S, 30, "GET /new")):
        for at in range(0, HOUR_S, 20):
            started_s = now_s - before + at
            version = "1" if before > HOUR_S else "2"
            rows.append({**transaction(started_s, ms + at % 3, hits=20), "version": version})
            rows.append({**transaction(started_s, 20 + at % 7, hits=0, name="GET /same"), "version": version})
            rows.append({**transaction(started_s, 5, hits=0, name=one_sided), "version": version})
    rows += [transaction(now_s - 60, 2_000, hits=0, name="GET /slow", is_error=at == 0) for at in range(4)]
    insert(engine, "transactions", rows)
    minute: dict[str, Any] = {
        "collector": "a",
        "host": "db1",
        "received": 100,
        "stored": 90,
        "lost": 4,
        "dead": 6,
        "is_ok": True,
    }
    minute |= {"spool_bytes": 1000, "others": {"disk_free_bytes": 30, "disk_bytes": 120}}
    insert(engine, "walltime_health", [{**minute, "minute": now_s - 60 * at} for at in range(1, 4)])
    old: dict[str, Any] = {
        "service": "shop",
        "name": "GET /",
        "severity": "critical",
        "headline": "GET /: takes 10 ms → 30 ms.",
    }
    changes = {"measure": ["time"], "component": [""], "address": [""], "usual": [1e7], "now": [3e7], "worst": [4e7]}
    old |= {f"change.{name}": values for name, values in changes.items()}
    times = {"started_at": now_s - 9 * HOUR_S, "ended_at": now_s - 8 * HOUR_S}
    states = [{"id": "open", **old, **times, "is_open": True}]
    states += [{"id": "over", **old, "started_at": now_s - 600, "ended_at": now_s - 300, "severity": "warning"}]
    states += [{"id": "past", **old, **times}]
    insert(engine, "incidents", states)
    start = {name: value for board in dashboards().values() for name, value in variables(board).items()}
    shown = Range(now_s - HOUR_S, now_s, interval_s=60)

    def asked(name: str, **chosen: str | list[str]) -> list[dict[str, Any]]:
        return [*engine.query(expand(sql(name), "4", shown, {**start, **chosen}), {})]

    return asked


def test_open_incidents_are_shown_whatever_the_time_and_filters_leave_what_is_chosen(ask: Ask) -> None:
    rows = ask("incidents/incidents")
    assert [(row["id"], row["state"], row["severity"]) for row in rows] == [
        ("open", "open", "critical"),
        ("over", "over", "warning"),
    ]
    assert rows[0]["what happened"] == "takes 10 ms → 30 ms."
    assert rows[1]["lasted"] == 300e9
    assert [row["id"] for row in ask("incidents/incidents", severity=["warning"])] == ["over"]
    assert [row["id"] for row in ask("incidents/incidents", state=["open"])] == ["open"]
    (none,) = ask("incidents/incidents", kind=["GET /same"])
    assert (none["id"], none["what happened"]) == ("", "None: all kinds are as usual.")
    assert ask("incidents/status")[0]["sentence"] == "1 incident is open, 1 of this time is over; 1 critical."
    (first, _) = ask("incidents/changes")
    assert (first["measure"], first["usual"], first["now"], first["worst"]) == (
        *("time of a transaction", "10 ms", "30 ms", "40 ms"),
    )
    (kind,) = ask("incidents/kinds")
    assert (kind["incidents"], kind["open"], kind["not as usual"]) == (2, 1, (HOUR_S + 300) * 1e9)
    points = ask("incidents/open")
    assert {row["critical"] for row in points} == {1}
    assert sorted({row["warning"] for row in points}) == [0, 1]


def test_two_times_are_compared(ask: Ask) -> None:
    rows = {row["kind"]: row for row in ask("before_after/kinds")}
    assert {kind: row["verdict"] for kind, row in rows.items()} == {
        **{"GET /": "chance?", "GET /same": "chance?", "GET /new": "new", "GET /gone": "gone", "GET /slow": "new"},
    }
    assert rows["GET /"]["change"] == pytest.approx(31 / 11 - 1)
    assert rows["GET /"]["more time"] == pytest.approx(180 * 20e6)
    assert rows["GET /new"]["mean before"] is None
    means = ask("before_after/means", kind=["GET /"])
    assert [(point["before"], point["now"]) for point in means] == [(pytest.approx(11e6), pytest.approx(31e6))] * 60


def test_two_versions_are_compared_in_the_time_shown(ask: Ask) -> None:
    """Version 1 was there in the hour before only."""
    rows = ask("before_after/kinds", old_version=["1"], new_version=["2"])
    assert {row["verdict"] for row in rows} == {"new"}
    assert ask("before_after/status", old_version=["1"])[0]["sentence"].startswith("No transaction before: nothing is")
    same = ask("before_after/kinds", old_version=["2"], new_version=["2"])
    assert {row["change"] for row in same} == {0}


def test_a_collectors_account_adds_up(ask: Ask) -> None:
    (row,) = ask("collector/accounts")
    assert (row["received"], row["stored"], row["lost"], row["dead"], row["rejected"]) == (300, 270, 12, 18, None)
    received = [point["received"] for point in ask("collector/spans")]
    assert (len(received), received.count(None)) == (60, 57), "a minute without counters is a gap"
    assert sum(filter(None, received)) * 60 == 300
    assert max(filter(None, (point["spool"] for point in ask("collector/spool")))) == 1000
    assert {point["free"] for point in ask("collector/disk")} == {0.25, None}
    assert sum(filter(None, (point["lost"] for point in ask("collector/losses")))) == 12


def test_a_burn_rate_is_the_bad_share_divided_by_the_share_that_may_be_bad(ask: Ask) -> None:
    rows = {row["kind"]: row for row in ask("slo/kinds", target="99", slower_than="1000")}
    slow = rows["GET /slow"]
    assert (slow["1 h"], slow["6 h"], slow["3 d"]) == pytest.approx((100, 100, 100))
    assert (slow["alert"], slow["failed"], slow["too slow"], slow["good"]) == ("page", 0.25, 0.75, 0)
    assert (rows["GET /"]["alert"], rows["GET /"]["1 h"], rows["GET /"]["good"]) == ("", None, 1)
    fast = {row["kind"]: row for row in ask("slo/kinds", target="50", slower_than="25")}["GET /"]
    assert (fast["1 h"], fast["6 h"]) == pytest.approx((2, 1))
    assert fast["alert"] == ""
    assert ask("slo/burn", target="50", slower_than="25", kind=["GET /"])[-1]["burn"] == pytest.approx(2)


def test_every_choice_is_all_at_first() -> None:
    assert {tuple(variables(dashboards()["walltime-incidents"])[name]) for name in ("severity", "state")} == {(ALL,)}
