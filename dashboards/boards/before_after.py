"""Board "Before and after": all kinds, components and statements of two times, or of two versions."""

from __future__ import annotations

from ..columns import COLUMNS
from ..frame import board, line
from ..links import to_comparison
from ..panels import lines, rows, status
from ..variables import choices, several

AGAINST = {"the time before": "0", "an hour before": "3600", "the day before": "86400", "the week before": "604800"}

VERDICT = COLUMNS["verdict"].with_more(links=[to_comparison()])

BOARD = board(
    "before_after",
    "before and after",
    "What is slower or faster than before: all kinds of two times, or of two versions.",
    line(2, status("before_after/status")),
    line(12, rows("before_after/kinds", verdict=VERDICT)),
    line(9, rows("before_after/components", 17), lines("before_after/means", 7)),
    line(8, rows("before_after/statements")),
    own_variables=[
        choices("against", "Against", **AGAINST),
        several("old_version", "or: version before", query="version"),
        several("new_version", "version now", query="version"),
    ],
)
