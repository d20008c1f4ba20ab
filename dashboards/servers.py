"""Dashboard "memcache and MySQL": the servers behind the application, as it sees them, and MySQL's own log."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.models.dashboard import DashboardFieldConfigSourceOverrides as Override
from grafana_foundation_sdk.models.dashboard import DynamicConfigValue, MatcherConfig
from walltime_collector.cli.drawing.bars import COLOURS

from . import colours, columns, links, panels, variables
from .frame import frame


def build() -> Dashboard:
    """Caches first: their misses are the database's load."""
    board = frame(
        links.SERVERS,
        "Walltime: memcache and MySQL",
        "Hit ratio, calls and time by server, MySQL's load by kind, and the statements that make it.",
    )
    board.variables([variables.service(), variables.kind()])
    board.with_panel(panels.status("status"))
    board.with_row(Row("memcache"))
    board.with_panel(
        panels.tiles(
            "caches",
            "",
            "All memcache servers together, over the time shown.",
            {
                "hit ratio": columns.percent(),
                **columns.all_of(("gets per transaction", "misses per transaction"), columns.mean()),
                "per get": columns.duration(),
                "errors": columns.bad(columns.count()),
            },
        )
    )
    board.with_panel(
        panels.lines(
            "hit_ratio",
            "Hit ratio by server",
            "The share of the keys asked for that the server had. One alone falling to 0 was restarted or emptied.",
            width=12,
            unit="percentunit",
            series="server",
            most=1,
        )
    )
    board.with_panel(
        panels.lines(
            "misses",
            "Misses per second by server",
            "Each is work for the database.",
            width=12,
            unit="ops",
            series="server",
            is_stacked=True,
        )
    )
    board.with_row(Row("MySQL"))
    board.with_panel(
        panels.tiles(
            "database",
            "",
            "All MySQL servers together, over the time shown, as the application sees them.",
            {
                **columns.all_of(("queries per transaction", "connects per transaction"), columns.mean()),
                "per query": columns.duration(),
                **columns.all_of(("errors", "deadlocks", "lock timeouts"), columns.bad(columns.count())),
            },
        )
    )
    board.with_panel(
        panels.lines(
            "mysql_load",
            "Average active statements by kind",
            "The time transactions wait for MySQL, divided by the time that passed: how many statements it works on at "
            "once, and for whom. The twelve kinds with most of it, and the rest together. The table beside it has the "
            "links.",
            width=12,
            height=9,
            series="kind",
            is_stacked=True,
            overrides=[
                # (all others) has no dashboard of its own; Grafana 12 adds links, a later rule takes none away
                Override(
                    MatcherConfig("byRegexp", r"/^(?!.*\(all others\)$)/"),
                    [DynamicConfigValue("links", [links.to_kind_of_series()])],
                ),
            ],
        )
    )
    board.with_panel(
        panels.rows(
            "mysql_kinds",
            "Kinds of transaction, by their time in MySQL",
            "A click on a kind shows its response time. `queries` are means per transaction.",
            {
                "service": columns.text(85),
                "kind": columns.link(links.to_kind()),
                "time": columns.duration(),
                "share": columns.bar(75),
                "queries": columns.mean(75),
                "per query": columns.duration(85),
            },
            width=12,
            height=9,
        )
    )
    board.with_panel(
        panels.lines(
            "connects",
            "Connections opened per second",
            "As many as transactions means that every one connects anew: use a pool, or persistent connections.",
            width=24,
            height=6,
            unit="ops",
            overrides=[
                colours.series("connects", COLOURS["mysql"]),
                colours.failed_series(),
            ],
        )
    )
    board.with_row(Row("Every server"))
    board.with_panel(
        panels.lines(
            "time_by_server",
            "Time per call by server",
            "One of several equal servers standing out is the one to look at. One step up is ten times as long.",
            width=12,
            height=9,
            unit="ms",
            is_log=True,
            series="on_server",
        )
    )
    board.with_panel(
        panels.lines(
            "calls_by_server",
            "Calls per second by server",
            "Equal servers should get about equally many.",
            width=12,
            height=9,
            unit="ops",
            series="on_server",
        )
    )
    board.with_panel(
        panels.rows(
            "servers",
            "Servers, by the time spent on them",
            "`hit ratio` and `misses` are of memcache's gets.",
            {
                "component": columns.rest(130),
                "server": columns.rest(150),
                "share": columns.bar(),
                **columns.all_of(("time", "per call"), columns.duration()),
                **columns.all_of(("calls made", "misses"), columns.count(95)),
                "hit ratio": columns.percent(),
                "errors": columns.bad(columns.count(70)),
                "kinds that call it": columns.count(135),
            },
            height=9,
        )
    )
    board.with_row(Row("Statements"))
    board.with_panel(
        panels.rows(
            "statements",
            "Statements, as the application sees them",
            "By total time. `calls per transaction` is of those that send it: far above 1 is a loop that queries.",
            {
                "statement": columns.long_text(),
                **columns.all_of(("time", "per call"), columns.duration()),
                "share": columns.bar(75),
                "calls made": columns.count(95),
                "calls per transaction": columns.mean(165),
                "errors": columns.bad(columns.count(70)),
                "sent by": columns.text(200),
                "example": columns.trace_id(links.to_transaction(with_kind=False)),
            },
            height=11,
        )
    )
    board.with_panel(
        panels.rows(
            "slow_log_digest",
            "Statements, as MySQL's slow log tells it",
            "By total time on the server; waits and rows examined and sent are means per call. A cell is empty where "
            "the server does not report it. MariaDB reports no wait for row locks: `likely row lock` is its time in "
            "the storage engine that neither disk nor pages explain.",
            {
                "statement": columns.long_text(145),
                **columns.all_of(("time", "per call", "longest", "row lock"), columns.duration()),
                "share": columns.bar(70),
                "calls": columns.count(80),
                "lock wait": columns.duration(85),
                "likely row lock": columns.duration(120),
                "examined": columns.mean(90),
                "sent": columns.mean(75),
                "full scans": columns.percent(86),
                "routes": columns.text(75),
                "example": columns.trace_id(links.to_transaction(with_kind=False)),
            },
            height=11,
        )
    )
    return board
