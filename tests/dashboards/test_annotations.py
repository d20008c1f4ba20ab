"""Events of observed servers as Grafana's annotations: each once, those that change what all feel."""

from __future__ import annotations

import itertools
import json
import time

from walltime_collector.clickhouse.engine import Engine
from walltime_collector.observe.events import Event, System, event_row

from tests.collector.conftest import engine  # noqa: F401  # the fixture
from tests.dashboards.grafana import Plugin, Range, dashboards, expand


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
    plugins: tuple[Plugin, ...] = ("3.3", "4")
    for board, plugin in itertools.product(dashboards().values(), plugins):
        (layer,) = [each for each in board["annotations"]["list"] if each["name"] == "Servers"]
        shown = Range(now_s - 1_800, now_s, interval_s=10)
        rows = engine.query(expand(layer["target"]["rawSql"], plugin, shown, {}), {})
        assert [(row["title"], row["text"], row["tags"]) for row in rows] == [
            ("cache1: connection limit", f"cache1 connection_limit {now_s - 1_500}", "redis,connection_limit"),
            ("cache1: restarted", "cache1 restarted 0.0", "memcached,restarted"),
            ("cache1: evicting", f"cache1 evicting {now_s - 400}", "memcached,evicting"),
        ]
