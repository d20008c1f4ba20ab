"""Board "memcache and MySQL": the servers behind the application, as it sees them, and MySQL's own log."""

from __future__ import annotations

from ..frame import board, line, section
from ..panels import bars, lines, rows, stacked, status

BOARD = board(
    "servers",
    "memcache and MySQL",
    "Hit ratio, calls and time by server, MySQL's load by kind, and the statements that make it.",
    line(2, status()),
    section(
        "memcache",
        line(4, rows("servers/caches")),
        line(
            8,
            lines("servers/hit_ratio", 12, unit="percentunit", by="server"),
            stacked("servers/misses", 12, unit="ops", by="server"),
        ),
    ),
    section(
        "MySQL",
        line(4, rows("servers/database")),
        line(9, stacked("servers/mysql_load", 12, unit="short", by="kind"), rows("servers/mysql_kinds", 12)),
        line(8, bars("servers/connects", unit="ops")),
    ),
    section(
        "Every server",
        line(
            9,
            lines("servers/time_by_server", 12, unit="ms", by="on_server", is_log=True),
            lines("servers/calls_by_server", 12, unit="ops", by="on_server"),
        ),
        line(9, rows("servers/by_server")),
    ),
    section("Statements", line(11, rows("servers/statements")), line(11, rows("servers/slow_log_digest"))),
)
