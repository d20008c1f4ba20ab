"""Dashboard "Transaction": one request, its bill, its calls, and what the database's log said of it."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync
from walltime_collector.cli.drawing.bars import COLOURS

from . import columns, links, panels, variables
from .frame import frame
from .response_time import slowest_columns


def build() -> Dashboard:
    """From the whole to the single statement; at the end others to look at."""
    board = frame(
        links.TRANSACTION,
        "Walltime: transaction",
        "Where the wall time of one request went. Without a trace id: the slowest of the time and kinds chosen.",
    )
    board.refresh("")
    board.tooltip(DashboardCursorSync.OFF)
    board.variables([variables.service(), variables.kind(), variables.trace_id()])
    board.with_panel(panels.status("trace_status"))
    board.with_panel(
        panels.tiles(
            "trace_summary",
            "",
            "The first transaction of the request. CPU is spent inside the other times, the queue lies before them.",
            {
                **columns.all_of(("took", "cpu", "queue"), columns.duration()),
                **{
                    name: columns.coloured(columns.duration(), COLOURS[family])
                    for name, family in {
                        **{name: name for name in ("mysql", "memcache", "http", "other")},
                        "own": "custom",
                    }.items()
                },
                **columns.all_of(("queries", "misses"), columns.count()),
            },
            value_px=19,
        )
    )
    board.with_panel(
        panels.rows(
            "trace_transactions",
            "The request in all services",
            "Every transaction with this trace id, in the order they started. "
            "`calls kept` says why the calls were kept one by one; empty: only the bill was.",
            {
                "started": columns.moment(),
                "service": columns.text(85),
                "kind": columns.link(links.to_kind()),
                **columns.all_of(("took", "other", "cpu", "queue"), columns.duration()),
                "status": columns.code(),
                "error": columns.text(100),
                **columns.all_of(("user", "host", "version"), columns.text(95)),
                "calls kept": columns.text(90),
                "trace": columns.hidden(),
            },
            height=5,
        )
    )
    board.with_panel(
        panels.rows(
            "trace_bill",
            "The bill",
            "Each nanosecond once; the parts of a transaction add up to what it took (to more where calls overlap).",
            {
                "service": columns.text(100),
                "kind": columns.rest(150),
                "component": columns.rest(130),
                "time": columns.duration(),
                "share": columns.bar(),
                "calls": columns.count(70),
                **columns.all_of(("per call", "longest"), columns.duration()),
                "errors": columns.bad(columns.count(70)),
                **columns.all_of(("hits", "misses"), columns.count(70)),
            },
            height=9,
        )
    )
    board.with_panel(
        panels.rows(
            "trace_targets",
            "The servers it talked to",
            "One line per component and server.",
            {
                "component": columns.rest(130),
                "server": columns.rest(150),
                **columns.all_of(("time", "per call"), columns.duration()),
                "calls": columns.count(70),
                "hit ratio": columns.percent(),
                "misses": columns.count(70),
                "errors": columns.bad(columns.count(70)),
                "service": columns.text(100),
                "kind": columns.rest(150),
            },
            height=8,
        )
    )
    board.with_panel(
        panels.rows(
            "trace_statements",
            "Its statements",
            "As the application wrote them: many calls of the same one are a loop that queries.",
            {
                "statement": columns.long_text(),
                **columns.all_of(("time", "per call"), columns.duration()),
                "share": columns.bar(),
                "calls": columns.count(70),
                "errors": columns.bad(columns.count(70)),
                "service": columns.text(100),
                "kind": columns.text(180),
            },
            height=8,
        )
    )
    board.with_panel(
        panels.trace(
            "trace_spans",
            "Its calls in time",
            "Transactions of all services, and every call where they were kept (for failures, for callers that sample, "
            "and by chance). Click on one for its statement, key or address.",
        )
    )
    board.with_panel(
        panels.rows(
            "trace_slow_queries",
            "What the database's log says of it",
            "Entries of the slow log whose comment carries this trace id: what the server did while the application "
            "waited, and the rows it examined, sent and changed. A cell is empty where the server does not report it. "
            "MariaDB reports no wait for row locks: `likely row lock` is its time in the storage engine that neither "
            "disk nor pages explain.",
            {
                "started": columns.time_of_day(),
                "statement": columns.long_text(140),
                **columns.all_of(("took", "row lock", "io wait"), columns.duration()),
                "lock wait": columns.duration(85),
                "likely row lock": columns.duration(120),
                "examined": columns.count(90),
                "sent": columns.count(66),
                "changed": columns.count(80),
                "how": columns.rest(80),
                "server": columns.text(70),
                "error": columns.code(),
                "connection": columns.code(95),
            },
            height=8,
        )
    )
    board.with_row(Row("Others to look at"))
    board.with_panel(
        panels.rows(
            "slowest",
            "The slowest transactions of the kinds chosen above",
            "A click on the trace id shows it in this dashboard.",
            slowest_columns(),
            height=11,
        )
    )
    return board
