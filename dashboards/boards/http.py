"""Board "HTTP": what transactions request of other services, by host."""

from __future__ import annotations

from dataclasses import replace

from ..columns import COLUMNS, Column
from ..frame import board, line, section
from ..links import to_server
from ..panels import bars, lines, rows, stacked, status
from ..variables import several

SERVER = COLUMNS["server"].with_more(links=[to_server("http.request")])

BOARD = board(
    "http",
    "HTTP",
    "The services that transactions call over HTTP, by host: time, failures, retries, statuses.",
    line(2, status()),
    line(5, rows("http/hosts", server=SERVER)),
    line(9, lines("http/per_call", 12, by="server", is_log=True), stacked("http/load", 12, unit="short", by="server")),
    line(
        8,
        bars("http/errors", 13, unit="percentunit", by="server"),
        rows("http/answers", 11, server=Column(118, is_flexible=True), answer=Column(120, is_flexible=True)),
    ),
    line(
        8,
        lines("http/calls", 8, unit="short", by="server"),
        rows("http/kinds", 16, kind=replace(COLUMNS["kind"], width=128)),
    ),
    line(8, rows("http/urls", answers=Column(160))),
    section("The slowest requests", line(10, rows("http/slowest")), is_open=False),
    own_variables=[several("server", "Dependency", "http_server")],
)
