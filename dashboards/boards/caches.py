"""Board "Caches": memcached and Redis by server, as transactions see them and as they say themselves."""

from __future__ import annotations

from dataclasses import replace

from ..columns import COLUMNS
from ..frame import board, line, section
from ..links import to_server
from ..panels import bars, lines, rows, stacked, status
from ..variables import several

SERVER = COLUMNS["server"].with_more(links=[to_server("memcache.get")])

BOARD = board(
    "caches",
    "caches",
    "memcached and Redis by server: hit ratio, time, memory, restarts, and what the keys are for.",
    line(2, status()),
    line(5, rows("caches/servers", server=SERVER, version=replace(COLUMNS["version"], width=130))),
    line(
        9,
        lines("caches/hit_ratio", 12, unit="percentunit", by="server"),
        stacked("caches/misses", 12, unit="short", by="server"),
    ),
    line(
        9, lines("caches/per_call", 12, by="server", is_log=True), lines("caches/calls", 12, unit="short", by="server")
    ),
    line(5, rows("caches/events")),
    line(9, rows("caches/prefixes", 14), lines("caches/memory", 10, unit="percentunit", by="server")),
    line(8, rows("caches/kinds")),
    section(
        "What the servers say themselves",
        line(2, status("caches/observed")),
        line(
            8,
            bars("caches/evicted", 8, by="server"),
            lines("caches/all_hits", 8, unit="percentunit", by="server"),
            lines("caches/commands", 8, unit="short", by="server"),
        ),
    ),
    section(
        "Failed calls, expired items, connections",
        line(
            8,
            bars("caches/errors", 8, by="server"),
            lines("caches/expired", 8, unit="short", by="server"),
            lines("caches/connections", 8, unit="short", by="server"),
        ),
        is_open=False,
    ),
    own_variables=[several("server", "Server", "cache_server")],
)
