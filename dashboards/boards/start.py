"""Board "Start": is all well, and where to look; what to do when there is nothing yet."""

from __future__ import annotations

from dataclasses import replace

from ..columns import COLUMNS
from ..frame import board, line
from ..links import to_page
from ..panels import rows, status, text

WORDS = """
**Where to look.** A service above is slower than yesterday: click on it, then on the kind with the most time, then on a
slow transaction. Each board has the others at its top right, under *Walltime*, and the same time in Walltime's own
pages under *In Walltime*.

**Nothing is there.** `walltime doctor` tests the way from an application to this database. The data source, at the top
left, must be the one with Walltime's tables.

**Words.** A *transaction* is one request that a service handled; transactions of one name are a *kind*. Its time is
divided by *component* (`mysql.query`, `memcache.get`), and components of one system are a *family*. *Other* is time in
no measured call. p95: 95 of 100 transactions took at most so long.
"""

_SERVICE = replace(COLUMNS["service"], is_flexible=True)
_INCIDENT = COLUMNS["what happened"].with_more(
    links=[to_page("/incidents${__data.fields.id}", "The incident in Walltime")]
)

BOARD = board(
    "start",
    "start",
    "Which services there are, how they are, and where to look.",
    line(2, status()),
    line(8, rows("start/services", service=_SERVICE)),
    line(6, rows("incidents", kind=replace(COLUMNS["kind"], width=200, is_flexible=False), what_happened=_INCIDENT)),
    line(9, rows("start/collectors", 14), text(WORDS, 10, "How to read the boards")),
)
