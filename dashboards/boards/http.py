"""Board "HTTP": what transactions request of other services, by host."""

from __future__ import annotations

from ..columns import COLUMNS
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
    line(6, rows("http/hosts", server=SERVER)),
    line(9, lines("http/per_call", 12, by="server", is_log=True), stacked("http/load", 12, unit="short", by="server")),
    line(9, lines("http/calls", 12, unit="short", by="server"), bars("http/errors", 12, unit="percentunit", by="server")),
    line(8, rows("http/kinds", 14), rows("http/answers", 10)),
    line(8, rows("http/urls")),
    section("The slowest requests", line(10, rows("http/slowest")), is_open=False),
    own_variables=[several("server", "Host", "http_server")],
)
