"""Board "MySQL": the servers, who keeps them busy with what, who waits for whom, and what they say of themselves."""

from __future__ import annotations

from dataclasses import replace

from ..columns import COLUMNS, Column
from ..frame import board, line, section
from ..links import to_board, to_server, to_statement, to_statement_page
from ..panels import bars, lines, rows, stacked, status
from ..variables import several
from .statements import FULL_SCANS, SENT_BY

SERVER = COLUMNS["server"].with_more(links=[to_server("mysql.query")])
OF_KIND = Column(120, is_flexible=True).with_more(
    links=[to_board("kind", "This kind", "var-kind=${__value.raw:percentencode}")]
)
STATEMENT = COLUMNS["statement"].with_more(links=[to_statement(), to_statement_page()])

BOARD = board(
    "mysql",
    "MySQL",
    "MySQL and MariaDB servers: their load by kind and by state, statements, row locks and their holders.",
    line(2, status()),
    line(5, rows("mysql/servers", server=SERVER, version=replace(COLUMNS["version"], width=130))),
    line(11, stacked("mysql/load", unit="short", by="kind", legend_px=470)),
    line(11, rows("mysql/statements", statement=STATEMENT, sent_by=SENT_BY, full_scans=FULL_SCANS)),
    line(
        7,
        rows(
            "mysql/lock_waits",
            kind=OF_KIND,
            statement=replace(COLUMNS["statement"], width=140),
            holder_statement=replace(COLUMNS["holder statement"], width=140),
        ),
    ),
    line(
        8, stacked("mysql/states", 12, unit="short", by="state"), lines("mysql/running", 12, unit="short", by="server")
    ),
    line(8, rows("mysql/kinds", load=replace(COLUMNS["load"], width=104))),
    line(5, rows("mysql/events")),
    section(
        "What the servers say themselves",
        line(2, status("mysql/observed")),
        line(
            8,
            lines("mysql/queries", 8, unit="short", by="server"),
            lines("mysql/rows_read", 8, unit="short", by="server"),
            lines("mysql/disk", 8, unit="percentunit", by="server"),
        ),
        line(8, lines("mysql/locks", 12, by="server"), lines("mysql/connections", 12, unit="percentunit", by="server")),
    ),
    section(
        "Temporary tables, old row versions, replication",
        line(
            8,
            bars("mysql/temporary", 8, by="server"),
            lines("mysql/history", 8, unit="short", by="server"),
            lines("mysql/lag", 8, by="server"),
        ),
        is_open=False,
    ),
    own_variables=[several("server", "Server", "mysql_server")],
)
