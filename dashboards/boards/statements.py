"""Board "Statements": which take the time, and one of them over time, at both ends."""

from __future__ import annotations

from dataclasses import replace

from ..columns import COLUMNS, Column
from ..frame import board, line, section
from ..links import to_statement, to_statement_page
from ..panels import bars, lines, rows, stacked, status, tiles
from ..variables import several

UNITS = {"load": "none", "calls": "ops", "mean": "ns", "repeats": "none", "failed": "percentunit"}
SENT_BY, FULL_SCANS = Column(152), Column(70, "percentunit", 0)
STATEMENT = COLUMNS["statement"].with_more(links=[to_statement(), to_statement_page()])

BOARD = board(
    "statements",
    "statements",
    "SQL statements: which take the time, who sends them, what the server does. Choose one above, or in the table.",
    line(2, status()),
    line(11, rows("statements/statements", statement=STATEMENT, sent_by=SENT_BY, full_scans=FULL_SCANS)),
    line(4, tiles("statements/summary", UNITS)),
    line(11, stacked("statements/load", unit="short", by="statement", legend_px=500)),
    line(
        9,
        lines("statements/both_ends", 8, by="end"),
        stacked("statements/states", 8, unit="short", by="state"),
        lines("statements/rows", 8, unit="none"),
    ),
    line(8, rows("statements/senders", 16, kind=replace(COLUMNS["kind"], width=130)), bars("statements/calls", 8)),
    line(6, rows("statements/plans", statement=STATEMENT, server=Column(136))),
    section("The slowest at the server", line(10, rows("statements/slowest", server=Column(136))), is_open=False),
    own_variables=[several("statement", "Statement", sort=0)],
)
