"""Board "Incidents": when kinds were not as usual, what changed, and where it is explained."""

from __future__ import annotations

from dataclasses import replace

from ..columns import COLUMNS
from ..frame import board, line
from ..links import to_page
from ..panels import lines, rows, status
from ..variables import choices

EXPLAINED = COLUMNS["what happened"].with_more(
    links=[to_page("/incidents/${__data.fields.id}", "The incident in Walltime")]
)

BOARD = board(
    "incidents",
    "incidents",
    "When a kind of transaction was not as usual, and why: open incidents, and those of the time shown.",
    line(2, status("incidents/status")),
    line(9, rows("incidents/incidents", what_happened=EXPLAINED, kind=replace(COLUMNS["kind"], is_flexible=False))),
    line(8, lines("incidents/open", 10, unit="short"), rows("incidents/kinds", 14)),
    line(9, rows("incidents/changes")),
    own_variables=[choices("severity", "Severity", "critical", "warning"), choices("state", "State", "open", "over")],
)
