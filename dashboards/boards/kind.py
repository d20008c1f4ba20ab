"""Board "Kind": one kind of transaction, from its mean to the servers, statements and lines that make it."""

from __future__ import annotations

from ..columns import Column
from ..frame import board, line, section
from ..panels import bars, heat, lines, rows, stacked, status, tiles
from .response_time import SUMMARY

BOARD = board(
    "kind",
    "kind",
    "One kind of transaction: what its time is spent on, how it is spread, and what has changed.",
    line(2, status()),
    line(4, tiles("summary", SUMMARY)),
    line(10, stacked("kind/breakdown")),
    line(9, rows("kind/components")),
    line(10, heat("kind/distribution", 13), rows("kind/slowest", 11)),
    line(
        8,
        lines("calls_per_transaction", 12, unit="short", by="component"),
        lines("time_per_call", 12, by="component", is_log=True),
    ),
    line(8, bars("response_time/rate", 12, unit="reqps"), bars("response_time/failures", 12, unit="percentunit")),
    section("Servers and statements", line(8, rows("kind/servers")), line(10, rows("kind/statements"))),
    section("Where `other` goes", line(9, rows("kind/lines", component=Column(112)))),
    section(
        "Percentiles, CPU and waiting",
        line(8, lines("response_time/percentiles", 12), lines("response_time/cpu_and_queue", 12)),
        is_open=False,
    ),
)
