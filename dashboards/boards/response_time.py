"""Board "Response time": how long transactions take, and on what, over time and by kind."""

from __future__ import annotations

from ..frame import board, line
from ..panels import bars, lines, rows, stacked, status, tiles

SUMMARY = {"failed": "percentunit", **dict.fromkeys(("mean", "p50", "p95", "p99", "longest"), "ns")}
"""The units of queries/summary.sql."""

BOARD = board(
    "response_time",
    "response time",
    "Where the wall time of transactions goes, and how much of it there is.",
    line(2, status()),
    line(4, tiles("summary", SUMMARY)),
    line(10, stacked("response_time/breakdown", 13, by="family"), rows("response_time/components", 11)),
    line(8, lines("response_time/percentiles", 12), lines("response_time/cpu_and_queue", 12)),
    line(8, bars("response_time/rate", 12, unit="reqps"), bars("response_time/failures", 12, unit="percentunit")),
    line(10, rows("kinds")),
    line(9, stacked("response_time/load", 24, unit="short", by="family")),
    line(
        9,
        lines("calls_per_transaction", 12, unit="short", by="component"),
        lines("time_per_call", 12, by="component", is_log=True),
    ),
    line(10, rows("slowest")),
)
