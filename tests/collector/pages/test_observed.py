"""What a database or cache says of itself on its page: the numbers of its table, honest gaps, and how to get them."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from typing import Any

import pytest
from markupsafe import escape
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.observe.address import parse
from walltime_collector.observe.events import Event, event_row
from walltime_collector.pages import urls
from walltime_collector.pages.views.observed import option
from walltime_collector.query.other_side import Observed, meant

from tests.collector.conftest import Store
from tests.collector.pages.conftest import Browser
from tests.collector.traffic import CACHES, DATABASE, MS, Sent, Shop

S_NS = 1_000_000_000
STEP_S, STEPS = 5, 120
START_S = (int(time.time()) - 900) // STEP_S * STEP_S
GAP = range(200, 290)
"""Seconds from the start in which nobody asked."""
RESTART = 400
LATE = range(470, 500)
"""It answered after half a minute only: one row is of all this time."""
UNOBSERVED = "10.9.0.9:3306"


def _iso(at_s: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_s))


def _address(component: str, address: str) -> str:
    return f"{urls.server(component, address)}.json?time={_iso(START_S)}..{_iso(START_S + STEP_S * STEPS)}"


def _rows() -> list[dict[str, Any]]:
    """A row a second, each of the second before it; after the gap and the restart, the first one is of the next."""
    rows = []
    for at in range(1, STEP_S * STEPS):
        if at in GAP or at == RESTART or at in LATE:
            continue
        over_s = len(LATE) + 1 if at == LATE.stop else 1
        rows.append({
            "at": f"{START_S + at}.000", "server": DATABASE, "version": "9.7.4-2", "over_ns": over_s * S_NS,
            "uptime_s": 5_000 + at if at < RESTART else at - RESTART,
            "threads_running": at % 7, "threads_connected": 10 + at % 3, "max_connections": 200,
            "refused_connections": 0,
            "queries": 100 * over_s, "page_requests": 1_000 + at, "page_misses": at % 5 * 10, "rows_read": 3 * at,
            "rows_changed": 0, "tmp_tables": 5, "tmp_tables_on_disk": 0, "row_lock_waits": 1,
            "row_lock_wait_ns": at * 1_000, "history_list": 12, "replication_lag_s": None,
        })  # fmt: skip
    return rows


def _cache_rows() -> list[dict[str, Any]]:
    return [
        {
            "at": f"{START_S + at}.000", "server": CACHES[0], "system": "memcached", "version": "1.6.18",
            "over_ns": S_NS, "uptime_s": at, "items": 10, "bytes": 60 << 20, "max_bytes": 64 << 20, "hits": 0,
            "misses": 7, "evictions": 2, "expired": 0, "commands": 9, "connections": 12, "max_connections": 1_024,
            "refused_connections": 0,
        }
        for at in range(1, STEP_S * STEPS)
    ]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def sent(engine: Engine, store: Store) -> list[Sent]:
    for table, rows in (("mysql_status", _rows()), ("cache_status", _cache_rows())):
        engine.insert_rows(table, "\n".join(map(json.dumps, rows)).encode(), f"observed-{table}")
    events: list[tuple[Event, int]] = [("restarted", 20), *(("saving", 100 + at * 10) for at in range(10))]
    for event, at in events:
        row = event_row(CACHES[0], "memcached", event, "It is.", at_s=START_S + at, until_s=START_S + at + 1)
        engine.insert_rows("server_events", json.dumps(row).encode(), f"observed-{event}-{at}")
    shop = Shop(seed=3)
    found = [each for at in range(200) for each in shop.visit(START_S * S_NS + at * 3 * S_NS)]
    for at in range(12):
        each = Sent(f"{at + 1:032x}", f"{at + 1:016x}", f"GET /other/{at}", (START_S + 30) * S_NS, 90 * MS)
        each.attributes = _targets(("mysql.query", DATABASE, 2 * MS), ("mysql.query", UNOBSERVED, MS))
        found.append(each)
    store(found)
    return found


def _targets(*calls: tuple[str, str, int]) -> dict[str, Any]:
    components, addresses, times_ns = zip(*calls, strict=True)
    names = ("component", "address", "time_ns", "calls")
    columns = (components, addresses, times_ns, [1] * len(calls))
    return {f"walltime.target.{name}": list(column) for name, column in zip(names, columns, strict=True)}


def _part(browser: Browser, component: str, address: str) -> dict[str, Any]:
    part: dict[str, Any] = browser.get(_address(component, address)).json()["observed"]
    return part


def _charts(part: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {chart["title"]: {each["name"]: each for each in chart["series"]} for chart in part["charts"]}


def _of_step(rows: Sequence[dict[str, Any]], step: int) -> list[dict[str, Any]]:
    """Those of one of its seconds."""
    first = START_S + step * STEP_S
    return [each for each in rows if first < float(each["at"]) <= first + STEP_S]


def test_counters_of_a_step_are_those_of_its_rows_a_second(browser: Browser, engine: Engine) -> None:
    charts, rows = _charts(_part(browser, "mysql.query", DATABASE)), _rows()
    late = range((LATE.start - 1) // STEP_S, LATE.stop // STEP_S + 1)
    for title, name, column in (
        ("Buffer pool", "reads", "page_requests"),
        ("Buffer pool", "from disk", "page_misses"),
        ("Statements and rows", "rows read", "rows_read"),
        ("Waits for row locks", "waited", "row_lock_wait_ns"),
    ):
        series = charts[title][name]
        for step, value in enumerate(series["values"]):
            of_step = _of_step(rows, step)
            if step in late:
                continue
            expected = sum(row[column] for row in of_step) / len(of_step) if of_step else None
            assert value == (None if expected is None else pytest.approx(expected, rel=1e-3)), (name, step)
        (stored,) = engine.query(f"SELECT sum({column}) * 1e9 / sum(over_ns) AS whole FROM mysql_status", {})
        assert series["whole"] == pytest.approx(stored["whole"], rel=1e-3)
    connections = charts["Connections"]["most at once"]
    assert connections["values"][0] == max(row["threads_connected"] for row in _of_step(rows, 0))


def test_a_late_answer_is_of_all_the_time_before_it(browser: Browser) -> None:
    statements = _charts(_part(browser, "mysql.query", DATABASE))["Statements and rows"]["statements"]["values"]
    assert {value for value in statements if value is not None} == {100}
    first, last = LATE.start // STEP_S, LATE.stop // STEP_S
    assert statements[first : last + 1] == [100] * (last + 1 - first)


def test_where_nobody_asked_is_a_gap_and_a_restart_is_no_negative_rate(browser: Browser) -> None:
    part = _part(browser, "mysql.query", DATABASE)
    gap = slice(GAP.start // STEP_S, (GAP.stop - 1) // STEP_S)
    for chart in part["charts"]:
        for series in chart["series"]:
            assert all(value is None or value >= 0 for value in series["values"])
            if chart["id"] != "server-active" or series["name"] == "threads running":
                assert set(series["values"][gap]) == {None}, (chart["title"], series["name"])
                assert None not in series["values"][: gap.start]
                assert None not in series["values"][gap.stop + 1 :]
    assert part["version"] == "MySQL 9.7.4"
    assert part["uptime_s"] == STEP_S * STEPS - 1 - RESTART


def test_active_statements_are_the_time_of_the_applications_by_kind(browser: Browser, sent: list[Sent]) -> None:
    series = browser.get(_address("mysql.query", DATABASE)).json()["observed"]["charts"][0]["series"]
    of_kinds = [each for each in series if not each["is_beside"]]
    times_ns: dict[str, list[int]] = {}
    for each in sent:
        of_kind = times_ns.setdefault(f"{each.name} {each.service}", [0] * STEPS)
        bill = each.bill()
        names = ("component", "address", "time_ns")
        for component, address, time_ns in zip(
            *(bill.get(f"walltime.target.{name}", []) for name in names), strict=True
        ):
            if address == DATABASE and component.startswith("mysql."):
                of_kind[(each.started_ns // S_NS - START_S) // STEP_S] += time_ns
    ranked = sorted(times_ns, key=lambda name: (-sum(times_ns[name]), name))
    assert [each["name"] for each in of_kinds] == [*ranked[:7], f"{len(ranked) - 7} more"]
    for at, each in enumerate(of_kinds):
        mine = [times_ns[name] for name in (ranked[7:] if at == 7 else ranked[at : at + 1])]
        for step, value in enumerate(each["values"]):
            assert (value or 0) == pytest.approx(sum(times[step] for times in mine) / 1e9 / STEP_S, abs=1e-4)
            assert (value is None) == (not any(times[step] for times in times_ns.values()))


def test_what_did_not_happen_has_no_chart_but_a_word(browser: Browser) -> None:
    part = _part(browser, "mysql.query", DATABASE)
    assert [chart["title"] for chart in part["charts"]] == [
        *("Average active statements", "Connections", "Buffer pool", "Statements and rows", "Waits for row locks")
    ]
    assert part["quiet"] == ["no temporary tables on disk", "no refused connections"]
    page = browser.get(_address("mysql.query", DATABASE).replace(".json", "")).text
    assert "in this time no temporary tables on disk, no refused connections" in page


def test_a_cache_says_its_hit_ratio_and_how_near_its_limits_it_is(browser: Browser) -> None:
    charts = _charts(_part(browser, "memcache.get", CACHES[0]))
    assert set(charts["Hit ratio"]["hits of all lookups"]["values"]) == {0}
    assert set(charts["Evicted and expired"]["evicted"]["values"]) == {2}
    memory = charts["Memory"]
    assert (memory["used"]["whole"], memory["limit"]["whole"]) == (60 << 20, 64 << 20)
    assert list(charts["Connections"]) == ["most at once"]  # the limit is far above


def test_frequent_events_are_marked_on_the_page_of_their_server_alone(browser: Browser) -> None:
    model = browser.get(_address("memcache.get", CACHES[0])).json()
    assert [each["event"] for each in model["events"]] == [*["saving"] * 3, "restarted"]
    other = browser.get(_address("memcache.get", CACHES[1])).json()
    assert other["events"] == []
    overview = browser.get(f"/.json?time={_iso(START_S)}..{_iso(START_S + STEP_S * STEPS)}").json()
    assert [each["event"] for each in overview["events"]] == ["restarted"]


def test_a_server_that_is_not_observed_has_the_command_that_observes_it(browser: Browser) -> None:
    part = _part(browser, "mysql.query", UNOBSERVED)
    assert (part["charts"], part["is_asked"]) == ([], False)
    assert part["option"] == f"walltime serve --mysql 'mysql://walltime@{UNOBSERVED}'"
    page = browser.get(_address("mysql.query", UNOBSERVED).replace(".json", "")).text
    assert f"<code>{escape(part['option'])}</code>" in page


@pytest.mark.parametrize("system", ["mysql", "memcached", "redis"])
@pytest.mark.parametrize("address", ["10.0.0.5:4000", "db1", "[2001:db8::1]:4000", "/run/some.sock", "db-1.example:1"])
def test_the_command_names_the_server_as_the_applications_do(system: str, address: str) -> None:
    *command, name, url = shlex.split(option(system, address))
    assert (command, name) == (["walltime", "serve"], f"--{system}")
    found = parse(url, system, system, ["socket"])
    assert meant(address, [Observed(found.name, system)]) == found.name


@pytest.mark.parametrize("address", ["", "..", "a/b?c#d%2F:1", "<script>alert(1)</script>'\"", "$(reboot)"])
def test_an_address_that_is_none_has_no_command(address: str) -> None:
    assert option("mysql", address) == ""
