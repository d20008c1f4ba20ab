"""Dashboard "Transaction": one request, its bill, its calls, and what the database's log said of it."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync
from walltime_collector.cli.bars import COLOURS

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
    board.with_panel(
        panels.tiles(
            "trace_summary",
            "",
            "The first transaction of the request. CPU is spent inside the other times, the queue lies before them.",
            {
                **columns.all_of(("took", "cpu", "queue"), columns.ms()),
                **{
                    name: columns.coloured(columns.ms(), COLOURS[family])
                    for name, family in {
                        **{name: name for name in ("mysql", "memcache", "http", "other")},
                        "own": "custom",
                    }.items()
                },
                **columns.all_of(("queries", "misses"), columns.number()),
            },
            text_too=True,
        )
    )
    board.with_panel(
        panels.rows(
            "trace_transactions",
            "The request in all services",
            "Every transaction with this trace id, in the order they started. "
            "`calls kept` says why the calls were kept one by one; empty: only the bill was.",
            {
                "started": columns.text(170),
                "service": columns.text(110),
                "kind": columns.link(links.to_kind()),
                **columns.all_of(("took", "other", "cpu", "queue"), columns.ms(80)),
                "status": columns.text(65),
                "error": columns.text(120),
                "trace": columns.text(270),
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
                "service": columns.text(90),
                "component": columns.text(130),
                "time": columns.ms(80),
                "share": columns.bar(100),
                "calls": columns.number(0, 60),
                **columns.all_of(("per call", "longest"), columns.ms(80)),
                "errors": columns.bad(columns.number(0, 60)),
                **columns.all_of(("hits", "misses"), columns.number(0, 60)),
            },
            width=13,
            height=10,
        )
    )
    board.with_panel(
        panels.rows(
            "trace_targets",
            "The servers it talked to",
            "One line per component and server.",
            {
                "component": columns.text(130),
                "server": columns.text(150),
                **columns.all_of(("time", "per call"), columns.ms(80)),
                "calls": columns.number(0, 60),
                "hit ratio": columns.percent(75),
                "misses": columns.number(0, 65),
                "errors": columns.bad(columns.number(0, 60)),
            },
            width=11,
            height=10,
        )
    )
    board.with_panel(
        panels.rows(
            "trace_statements",
            "Its statements",
            "As the application wrote them: many calls of the same one are a loop that queries.",
            {
                "statement": columns.long_text(),
                **columns.all_of(("time", "per call"), columns.ms(80)),
                "share": columns.bar(100),
                "calls": columns.number(0, 60),
                "errors": columns.bad(columns.number(0, 60)),
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
            "waited. Empty where the log is off, or not followed, or nothing was slow enough for it.",
            {
                "started": columns.text(200),
                "statement": columns.long_text(),
                **columns.all_of(("took", "lock wait", "row lock wait", "io wait"), columns.ms(90)),
                **columns.all_of(("rows examined", "rows sent", "rows affected"), columns.number(0, 105)),
                "error": columns.text(60),
                "connection": columns.text(90),
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
