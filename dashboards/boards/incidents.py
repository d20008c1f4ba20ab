"""Board "Incidents": when kinds were not as usual, what changed, and where it is explained."""

from __future__ import annotations

from dataclasses import replace

from ..columns import COLUMNS, Column
from ..frame import board, line
from ..links import to_page
from ..panels import bars, rows, status
from ..variables import choices

KIND = replace(COLUMNS["kind"], width=180, is_flexible=False)
EXPLAINED = COLUMNS["what happened"].with_more(
    links=[to_page("/incidents/${__data.fields.id}", "The incident in Walltime")]
)

BOARD = board(
    "incidents",
    "incidents",
    "When a kind of transaction was not as usual, and why: open incidents, and those of the time shown.",
    line(2, status("incidents/status")),
    line(9, rows("incidents/incidents", what_happened=EXPLAINED, kind=KIND, state=Column(108))),
    line(8, bars("incidents/open", 10), rows("incidents/kinds", 14)),
    line(9, rows("incidents/changes")),
    own_variables=[choices("severity", "Severity", "critical", "warning"), choices("state", "State", "open", "over")],
)
