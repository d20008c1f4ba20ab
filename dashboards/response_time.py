"""Dashboard "Response time": how long transactions take, and on what, over time and by kind."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard

from . import colours, columns, links, panels, variables
from .colours import NEUTRAL
from .frame import frame


def build() -> Dashboard:
    """The big picture at the top, tables that lead on below."""
    board = frame(
        links.RESPONSE_TIME,
        "Walltime: response time",
        "Where the wall time of transactions goes, and how much of it there is.",
    )
    board.variables([variables.service(), variables.kind()])
    board.with_panel(panels.status("status"))
    board.with_panel(
        panels.tiles(
            "summary",
            "",
            "All transactions of the time shown. Percentiles are of all of them, not of a sample.",
            {
                "per second": columns.mean(),
                "failed": columns.failed(),
                **columns.all_of(("mean", "p50", "p95", "p99", "slowest"), columns.duration()),
            },
        )
    )
    board.with_panel(
        panels.components(
            "breakdown",
            "Where the time goes: mean per transaction",
            "The whole height is the mean response time, each nanosecond counted once, in the component it was spent "
            "in; `other` is time in no measured call. Where calls overlap (threads, asyncio) the parts add up to more.",
            width=11,
            height=11,
            unit="ms",
            is_stacked=True,
        )
    )
    board.with_panel(
        panels.rows(
            "components",
            "The bill of the average transaction",
            "Time and calls side by side: 2 queries of 15 s and 10,000 queries of 3 ms are different problems.",
            {
                "component": columns.rest(130),
                "share": columns.bar(75),
                "per transaction": columns.duration(124),
                "calls": columns.mean(75),
                **columns.all_of(("per call", "longest"), columns.duration()),
                "errors": columns.bad(columns.count(70)),
            },
            width=13,
            height=11,
        )
    )
    board.with_panel(
        panels.lines("percentiles", "Response time", "Of all transactions in each interval.", width=8, unit="ms")
    )
    board.with_panel(
        panels.lines(
            "rate",
            "Transactions per second",
            "The failed ones (an exception, or HTTP 5xx) on top, in red.",
            width=8,
            unit="reqps",
            is_stacked=True,
            overrides=[colours.series("ok", NEUTRAL), colours.failed_series()],
        )
    )
    board.with_panel(
        panels.components(
            "load",
            "Load: transactions busy at once",
            "The total time spent in each component, divided by the time that passed: the average number of "
            "transactions that are in it at any moment. 1.0 keeps one worker busy.",
            width=8,
            is_stacked=True,
        )
    )
    board.with_panel(
        panels.components(
            "calls",
            "Calls per transaction",
            "More calls than usual: look for cache misses, or a loop that queries.",
            width=8,
        )
    )
    board.with_panel(
        panels.components(
            "time_per_call",
            "Time per call",
            "Slower calls than usual: look at the server that answers them. One step up is ten times as long.",
            width=8,
            unit="ms",
            is_log=True,
        )
    )
    board.with_panel(
        panels.lines(
            "cpu_and_queue",
            "CPU and queueing: mean per transaction",
            "CPU is spent inside the parts above. Queueing is from the front end's X-Request-Start until the "
            "application began, before the response time starts. A line is missing where it is unknown.",
            width=8,
            unit="ms",
        )
    )
    board.with_panel(
        panels.rows(
            "kinds",
            "Kinds of transaction, by the time they take",
            "A click on a kind shows this dashboard for it alone; one on a trace id shows that transaction. "
            "Times are means per transaction; `own` is what the application and its framework do themselves;"
            " `detailed` is the last one whose calls were kept.",
            {
                "service": columns.text(80),
                "kind": columns.link(links.to_kind()),
                "share": columns.bar(75),
                "transactions": columns.count(105),
                "failed": columns.failed(),
                **columns.all_of(("mean", "p95"), columns.duration()),
                **columns.all_of(("mysql", "http", "own", "other"), columns.duration()),
                "memcache": columns.duration(95),
                **columns.all_of(("slowest", "detailed"), columns.trace_id(links.to_transaction())),
            },
            height=10,
        )
    )
    board.with_panel(
        panels.rows(
            "slowest",
            "The slowest transactions",
            "A click on the trace id shows the transaction.",
            slowest_columns(),
            height=10,
        )
    )
    return board


def slowest_columns() -> dict[str, columns.Look]:
    """Looks for queries/slowest.sql."""
    return {
        "started": columns.moment(),
        "service": columns.text(80),
        "kind": columns.link(links.to_kind()),
        "took": columns.duration(),
        **columns.all_of(("mysql", "http", "own", "other"), columns.duration()),
        "memcache": columns.duration(95),
        "queries": columns.count(75),
        "misses": columns.count(70),
        "error": columns.text(85),
        "calls kept": columns.text(86),
        "trace": columns.trace_id(links.to_transaction()),
    }
