"""Dashboard "memcache and MySQL": the servers behind the application, as it sees them, and MySQL's own log."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.models.dashboard import DashboardFieldConfigSourceOverrides as Override
from grafana_foundation_sdk.models.dashboard import DynamicConfigValue, MatcherConfig
from walltime_collector.cli.bars import COLOURS

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
    board.with_row(Row("memcache"))
    board.with_panel(
        panels.tiles(
            "caches",
            "",
            "All memcache servers together, over the time shown.",
            {
                "hit ratio": columns.percent(),
                "gets per transaction": columns.number(2),
                "misses per transaction": columns.number(2),
                "per get": columns.ms(),
                "errors": columns.bad(columns.number()),
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
                "queries per transaction": columns.number(2),
                "per query": columns.ms(),
                "connects per transaction": columns.number(2),
                **columns.all_of(("errors", "deadlocks", "lock timeouts"), columns.bad(columns.number())),
            },
        )
    )
    board.with_panel(
        panels.lines(
            "mysql_load",
            "Average active statements by kind",
            "The time transactions wait for MySQL, divided by the time that passed: how many statements it works on at "
            "once, and for whom. A click leads to the kind. The twelve kinds with most of it, and the rest together.",
            width=16,
            height=9,
            series="kind",
            is_stacked=True,
            overrides=[
                Override(MatcherConfig("byType", "number"), [DynamicConfigValue("links", [links.to_kind_of_series()])])
            ],
        )
    )
    board.with_panel(
        panels.lines(
            "connects",
            "Connections opened per second",
            "As many as transactions means that every one connects anew: use a pool, or persistent connections.",
            width=8,
            height=9,
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
                "share": columns.bar(),
                "time": columns.ms(100),
                "per call": columns.ms(100),
                **columns.all_of(("calls made", "misses", "kinds that call it"), columns.number(0, 130)),
                "hit ratio": columns.percent(100),
                "errors": columns.bad(columns.number(0, 100)),
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
                "time": columns.ms(),
                "share": columns.bar(100),
                "calls made": columns.number(0, 90),
                "calls per transaction": columns.number(1, 145),
                "per call": columns.ms(),
                "errors": columns.bad(columns.number(0, 65)),
                "sent by": columns.text(250),
                "example": columns.link(links.to_transaction(with_kind=False), 120),
            },
            height=11,
        )
    )
    board.with_panel(
        panels.rows(
            "slow_log_digest",
            "Statements, as MySQL's slow log tells it",
            "By total time on the server. Empty where none is followed (walltime serve --slow-log).",
            {
                "statement": columns.long_text(),
                "share": columns.bar(100),
                "calls made": columns.number(0, 90),
                **columns.all_of(("time", "per call", "p95", "longest", "lock wait"), columns.ms()),
                **columns.all_of(("rows examined", "rows sent"), columns.number(1, 110)),
                "full scans": columns.percent(85),
                "routes": columns.text(180),
                "example": columns.link(links.to_transaction(with_kind=False), 120),
            },
            height=11,
        )
    )
    return board
