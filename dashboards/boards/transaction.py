"""Board "Transaction": one request, its bill, its calls and statements, for the application and for the database."""

from __future__ import annotations

from ..columns import COLUMNS, Column
from ..frame import board, line, section
from ..links import to_page
from ..panels import rows, status, trace
from ..variables import box

SHOWN = COLUMNS["sentence"].with_more(
    links=[to_page("/transactions/${__data.fields.id}", "The transaction in Walltime")]
)

BOARD = board(
    "transaction",
    "transaction",
    "Where the wall time of one request went. Without a trace id: the slowest of the time and kinds chosen.",
    line(2, status("transaction/status", sentence=SHOWN)),
    line(4, rows("transaction/transactions")),
    line(
        8,
        rows("transaction/bill", 13),
        rows("transaction/servers", 11, component=Column(112), server=Column(118, is_flexible=True)),
    ),
    line(7, rows("transaction/statements", how=Column(120), line=Column(130))),
    line(2, status("transaction/kept")),
    line(11, rows("transaction/calls", server=Column(130), line=Column(140))),
    section("Annotations", line(9, rows("transaction/annotations")), is_open=False),
    section("As Grafana draws traces", line(14, trace("transaction/spans")), is_open=False),
    section("Slow transactions of the time and kinds chosen", line(11, rows("slowest"))),
    own_variables=[box("trace_id", "Trace id or traceparent (empty: the slowest)")],
    refresh="",
)
