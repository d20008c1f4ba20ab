"""Board "Collector": whether all that applications send is stored, what waits, what is lost, and what it takes."""

from __future__ import annotations

from dataclasses import replace

from ..columns import COLUMNS
from ..frame import board, line
from ..panels import bars, lines, rows, status

SERVICE = replace(COLUMNS["service"], is_flexible=True)

BOARD = board(
    "collector",
    "collector",
    "Whether all that applications send is stored: accounts, lag, losses, free disk, and the tables.",
    line(2, status("collector/status")),
    line(4, rows("collector/accounts")),
    line(8, lines("collector/spans", 12, unit="short"), bars("collector/losses", 12)),
    line(
        7,
        lines("collector/lag", 8),
        lines("collector/spool", 8, unit="bytes"),
        lines("collector/disk", 8, unit="percentunit"),
    ),
    line(
        7,
        rows("collector/services", 15, service=SERVICE),
        rows("collector/applications", 9, what_happened=replace(COLUMNS["what happened"], width=150)),
    ),
    line(11, rows("collector/tables")),
)
