"""Board "SLO": how fast kinds use up the failures and slow transactions that a target allows."""

from __future__ import annotations

from ..frame import board, line
from ..panels import bars, lines, rows, status
from ..variables import box

BOARD = board(
    "slo",
    "SLO",
    "Burn rates for a target of failed and slow transactions. Choose the kinds that have this target.",
    line(2, status("slo/status")),
    line(11, rows("slo/kinds")),
    line(8, lines("slo/burn", 12, unit="none"), bars("slo/bad", 12, unit="percentunit")),
    own_variables=[
        box("target", "Target (% good)", "99.9"),
        box("slower_than", "Too slow from (ms)", "1000"),
    ],
    refresh="1m",
)
