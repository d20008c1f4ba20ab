"""Grafana's annotations: events of observed servers, incidents of the kinds chosen, first minutes of versions."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from typing import Any

from walltime_collector.clickhouse.engine import Engine
from walltime_collector.observe.events import Event, System, event_row

from dashboards.source import sql
from dashboards.variables import of_every_board
from tests.collector.conftest import engine  # noqa: F401  # the fixture
from tests.dashboards.grafana import Range, dashboards, expand


def test_events_of_servers_are_annotations_of_the_time_shown(engine: Engine) -> None:  # noqa: F811
    now_s = int(time.time())

    def happened(event: Event, at_s: float, until_s: float = 0.0, system: System = "memcached") -> None:
        row = event_row("cache1", system, event, f"cache1 {event} {until_s}", at_s=at_s, until_s=until_s)
        engine.insert_rows("server_events", json.dumps(row).encode(), f"{event}-{at_s}-{until_s}")

    happened("restarted", now_s - 600)
    happened("evicting", now_s - 500, now_s - 490)
    happened("evicting", now_s - 500, now_s - 400)  # it goes on: the same event
    happened("connection_limit", now_s - 2_000, now_s - 1_500, "redis")  # began before, was not over
    happened("saving", now_s - 300, now_s - 290)  # as often as every minute
    happened("restarted", now_s - 5_000)
    layers = [each for board in dashboards().values() for each in board["annotations"]["list"]]
    shown = Range(now_s - 1_800, now_s, interval_s=10)
    asked = {expand(each["target"]["rawSql"], "4", shown, {}) for each in layers if each["name"] == "Servers"}
    assert len(asked) == 1, "each board asks the same"
    for statement in asked:
        rows = engine.query(statement, {})
        assert [(row["title"], row["text"], row["tags"]) for row in rows] == [
            ("cache1: connection limit", f"cache1 connection_limit {now_s - 1_500}", "redis,connection_limit"),
            ("cache1: restarted", "cache1 restarted 0.0", "memcached,restarted"),
            ("cache1: evicting", f"cache1 evicting {now_s - 400}", "memcached,evicting"),
        ]


def asked(engine: Engine, name: str, now_s: int, **chosen: Any) -> list[dict[str, Any]]:  # noqa: F811
    start = {each["name"]: each["current"].get("value", "") for each in of_every_board()}
    shown = Range(now_s - 1_800, now_s, interval_s=10)
    return [dict(row) for row in engine.query(expand(sql(name), "4", shown, {**start, **chosen}), {})]


def utc(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def test_incidents_are_those_of_the_kinds_chosen_open_ones_always_with_a_link_to_their_page(
    engine: Engine,  # noqa: F811
) -> None:
    now_s = int(time.time())

    def happened(name: str, kind: str, *, began_s: int, ended_s: int, is_open: bool = False) -> None:
        row = {
            **{"id": name, "service": "shop", "name": kind, "severity": "warning", "headline": f"{kind} <b>slower</b>"},
            **{"started_at": utc(began_s), "ended_at": utc(ended_s), "updated_at": utc(ended_s), "is_open": is_open},
        }
        engine.insert_rows("incidents", json.dumps(row).encode(), name)

    happened("a", "GET /cart", began_s=now_s - 600, ended_s=now_s - 300)
    happened("b", "GET /search", began_s=now_s - 500, ended_s=now_s - 300)
    happened("c", "GET /cart", began_s=now_s - 9_000, ended_s=now_s - 8_000)
    happened("d", "GET /cart", began_s=now_s - 9_000, ended_s=now_s - 3_000, is_open=True)
    marks = asked(engine, "annotations/incidents", now_s, kind=["GET /cart"], walltime_url="https://w.example")
    assert [mark["title"] for mark in marks] == ["shop: GET /cart"] * 2
    assert [mark["text"] for mark in marks] == [
        f'GET /cart &lt;b&gt;slower&lt;/b&gt; <a href="https://w.example/incidents/{name}">In Walltime</a>'
        for name in ("d", "a")
    ]
    rows = asked(engine, "incidents", now_s, kind=["GET /cart"])
    assert [(row["id"], row["ended"] is None) for row in rows] == [("/a", False), ("/d", True)]
    (nothing,) = asked(engine, "incidents", now_s, kind=["GET /nowhere"])
    assert nothing["what happened"].startswith("None")


def test_a_deploy_is_the_first_minute_of_a_version_of_a_service_that_had_another_one(
    engine: Engine,  # noqa: F811
) -> None:
    now_s = int(time.time()) // 60 * 60
    for service, version, ago_s in (
        *(("shop", "1", 7_200), ("shop", "1", 600), ("shop", "2", 900), ("shop", "2", 300)),
        *(("new", "1", 1_200), ("old", "5", 7_200), ("old", "", 600)),
    ):
        row = {"minute": utc(now_s - ago_s), "service": service, "name": "GET /", "version": version, "transactions": 1}
        engine.insert_rows("transactions_1m", json.dumps(row).encode(), f"{service}-{version}-{ago_s}")
    marks = asked(engine, "annotations/versions", now_s)
    assert [(mark["title"], mark["tags"]) for mark in marks] == [("shop: version 2", "deploy,shop")]
    assert str(marks[0]["time"])[:19].replace("T", " ") == utc(now_s - 900)
    assert asked(engine, "annotations/versions", now_s, service=["old"]) == []
