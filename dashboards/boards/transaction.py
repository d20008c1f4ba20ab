"""Board "Transaction": one request, its bill, its calls, and what the database's log has of it."""

from __future__ import annotations

from dataclasses import replace

from ..columns import COLUMNS, Column
from ..frame import board, line
from ..panels import rows, status, trace
from ..variables import box

BOARD = board(
    "transaction",
    "transaction",
    "Where the wall time of one request went. Without a trace id: the slowest of the time and kinds chosen.",
    line(2, status("transaction/status")),
    line(4, rows("transaction/summary", other=replace(COLUMNS["other"], is_flexible=True))),
    line(5, rows("transaction/transactions", error=Column(80))),
    line(9, rows("transaction/bill")),
    line(8, rows("transaction/targets")),
    line(8, rows("transaction/statements")),
    line(14, trace("transaction/spans")),
    line(
        8,
        rows(
            "transaction/slow_queries",
            statement=replace(COLUMNS["statement"], width=140),
            server=Column(90),
            how=Column(80, is_flexible=True),
            examined=COLUMNS["sent"],
        ),
    ),
    line(11, rows("slowest")),
    own_variables=[box("trace_id", "Trace id or traceparent (empty: the slowest)")],
    refresh="",
)
