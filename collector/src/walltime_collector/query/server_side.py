"""What the database knows of statements: how long they took there, and what they waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Part = Literal["disk", "computing"]
"""Of the time of a statement at the server."""


@dataclass(frozen=True)
class ServerSide:
    """What the database logged: sums over its `entries` about some of the `calls` that the client made."""

    server: str
    entries: int
    calls: int
    """0 where the client's calls are not known one by one, as for COMMIT."""
    statements: int
    """More than one: the log cannot distinguish them, and this is about all of them."""
    query_ns: int
    """`locked_ns` + `disk_ns` + `computing_ns` + `rest_ns`."""
    lock_ns: int
    """Waiting for locks: of tables, of metadata, and with MySQL 8.0.28 and later of rows."""
    row_lock_ns: int
    """Waiting for rows, where that is measured by itself."""
    likely_row_lock_ns: int
    """Time in MariaDB's storage engine that neither disk nor pages explain: schema/013_row_lock_waits.sql."""
    locked_ns: int
    """Waiting for locks of all sorts, measured or likely."""
    disk_ns: int
    """Waiting for the disk."""
    is_disk_divided: bool
    """It is the likely part of what several statements waited."""
    computing_ns: int
    """On a CPU, outside of waits for the disk."""
    rest_ns: int
    rest_may_be: tuple[Part, ...]
    """What the rest may be, since the server measured no such time of some entries; none: something else."""
    network_ns: int | None
    """Client time minus server time: network, driver, what the server does not count. None unless all are logged."""
    rows_sent: int
    rows_examined: int
    rows_affected: int
    errors: int
    notes: tuple[str, ...]
    """`full scan`, `sorted on disk` …"""
