"""How loaded a MySQL or MariaDB server is: its own counters, each second, into mysql_status; and its restarts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import chain
from typing import Any

from pymysql import Connection
from pymysql.cursors import Cursor
from pymysql.err import MySQLError

from ..events import TABLE as EVENTS
from ..events import event_row
from ..look import Look
from ..writer import Row, Writer

TABLE = "mysql_status"
_SLOWLY_S = 5.0
"""Between two looks at what changes slowly: history list, replication, the limit of connections."""
_LONGEST_NS = 60_000_000_000
"""Counters of a longer time are of no moment."""
_VARIABLES = ("version", "server_uuid", "server_uid", "server_id", "max_connections")
_COUNTERS: Mapping[str, Sequence[str]] = {
    "queries": ("Questions",),
    "refused_connections": ("Connection_errors_max_connections",),
    "page_requests": ("Innodb_buffer_pool_read_requests",),
    "page_misses": ("Innodb_buffer_pool_reads",),
    "rows_read": ("Innodb_rows_read", "Rows_read"),
    "rows_changed": ("Innodb_rows_inserted", "Innodb_rows_updated", "Innodb_rows_deleted"),
    "tmp_tables": ("Created_tmp_tables",),
    "tmp_tables_on_disk": ("Created_tmp_disk_tables",),
    "row_lock_waits": ("Innodb_row_lock_waits",),
    "row_lock_wait_ns": ("Innodb_row_lock_time",),
}
"""By column."""
_OF_MARIADB: Mapping[str, Sequence[str]] = {
    **_COUNTERS,
    "rows_read": ("Rows_read",),
    "rows_changed": ("Handler_write", "Handler_update", "Handler_delete"),
}
"""It does not count InnoDB's rows any more; these are without those of temporary tables."""
_GAUGES = (
    *("Uptime", "Threads_running", "Threads_connected", "Innodb_history_list_length"),
    *("Innodb_buffer_pool_pages_dirty", "Innodb_buffer_pool_pages_total"),
)
_HISTORY = "SELECT `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'"
_REPLICAS = ("SHOW REPLICA STATUS", "SHOW SLAVE STATUS")
_OF_ALL_SOURCES = "SHOW ALL SLAVES STATUS"
"""Of MariaDB, where the others show one."""
_LAGS = ("Seconds_Behind_Source", "Seconds_Behind_Master")
_OF_CONNECTION = 2000
"""Errors from here on are of the connection; those below are the server's answer."""
_UPTIME_S = 1.5
"""Two runs of a server began further apart than this: its uptime is in whole seconds."""


@dataclass
class _Known:
    """Of one run of one server."""

    settings: Mapping[str, str]
    started_s: float
    """By the monotonic clock, to a second."""

    @property
    def identity(self) -> str:
        return self.settings.get("server_uuid") or self.settings.get("server_uid") or self.settings["server_id"]


class StatusLook(Look["Connection[Cursor]"]):
    """Asks a server for its counters."""

    def __init__(self, name: str, writer: Writer) -> None:
        super().__init__(name, writer)
        self._known: _Known | None = None
        self._counters: Mapping[str, Sequence[str]] = _COUNTERS
        self._before: tuple[int, Mapping[str, int]] | None = None
        """When, by the monotonic clock, and the counters."""
        self._slowly: dict[str, Any] = {}
        self._slowly_due_s = 0.0
        self._refused_since_s, self._refused_until_s, self._refused = 0.0, 0.0, 0

    def opened(self, connection: Connection[Cursor]) -> str:
        """Find out whether it is the same server as before, and the same run of it."""
        settings = _named(connection, "VARIABLES", _VARIABLES)
        uptime_s = int(_named(connection, "STATUS", ["Uptime"])["Uptime"])
        known, self._known = self._known, _Known(settings, time.monotonic() - uptime_s)
        if known and (event := _changed(self.name, known, self._known, uptime_s)):
            self.writer.add(EVENTS, [event])
            self._before = None
        self._counters = _OF_MARIADB if "MariaDB" in settings["version"] else _COUNTERS
        self._slowly, self._slowly_due_s = {}, 0.0
        return ""

    def look(self, connection: Connection[Cursor]) -> None:
        """See Look. The first row of a connection is that of its second look."""
        if time.monotonic() >= self._slowly_due_s:
            self._slowly = self._look_slowly(connection)
            self._slowly_due_s = time.monotonic() + _SLOWLY_S
        found = _named(connection, "STATUS", [*_GAUGES, *chain(*self._counters.values())])
        now_ns, before = time.monotonic_ns(), self._before
        sums = {column: sum(int(found.get(name, 0)) for name in names) for column, names in self._counters.items()}
        self._before = now_ns, sums
        if not before or now_ns - before[0] > _LONGEST_NS:
            return
        added = {column: max(number - before[1][column], 0) for column, number in sums.items()}
        added["row_lock_wait_ns"] *= 1_000_000
        self.writer.add(TABLE, [self._row(found, added, now_ns - before[0])])
        if refused := added["refused_connections"]:
            self._limit_reached(refused, (now_ns - before[0]) / 1e9)

    def _row(self, found: Mapping[str, str], added: Mapping[str, int], over_ns: int) -> Row:
        history = found.get("Innodb_history_list_length")
        return {
            "at": f"{time.time():.3f}",
            "server": self.name,
            "over_ns": over_ns,
            "uptime_s": int(found["Uptime"]),
            "threads_running": max(int(found["Threads_running"]) - 1, 0),  # this look
            "threads_connected": int(found["Threads_connected"]),
            "dirty_share": int(found.get("Innodb_buffer_pool_pages_dirty", 0))
            / max(int(found.get("Innodb_buffer_pool_pages_total", 0)), 1),
            **added,
            **self._slowly,
            **({"history_list": int(history)} if history else {}),
        }

    def _look_slowly(self, connection: Connection[Cursor]) -> dict[str, Any]:
        """What the row has of it; a figure that this account may not see is unknown."""
        settings = _named(connection, "VARIABLES", ["max_connections", "version"])
        ways = [_OF_ALL_SOURCES, *_REPLICAS] if self._counters is _OF_MARIADB else _REPLICAS
        replicas = next((rows for way in ways if (rows := _rows(connection, way)) is not None), [])
        lags = [row[name] for row in replicas for name in _LAGS if name in row]
        history = _rows(connection, _HISTORY) if self._counters is _COUNTERS else None
        return {
            "version": settings["version"],
            "max_connections": int(settings["max_connections"]),
            "history_list": history[0]["COUNT"] if history else None,
            "replication_lag_s": max(lags) if lags and None not in lags else None,
        }

    def _limit_reached(self, refused: int, over_s: float) -> None:
        """The event goes on while clients are refused at least once a minute."""
        now_s = time.time()
        if now_s - self._refused_until_s > _LONGEST_NS / 1e9:
            self._refused_since_s, self._refused = now_s - over_s, 0
        self._refused += refused
        self._refused_until_s = now_s
        limit = self._slowly["max_connections"]
        # MariaDB does not count those that it refuses after their login
        what = f"{self.name} refused at least {self._refused} clients: its {limit} connections (max_connections) were in use"
        since_s = self._refused_since_s
        self.writer.add(
            EVENTS,
            [
                event_row(
                    self.name, "mysql", "connection_limit", what, at_s=since_s, until_s=now_s, number=self._refused
                )
            ],
        )


def _changed(name: str, before: _Known, now: _Known, uptime_s: int) -> Row | None:
    """The event, when it is not the same run of the same server."""
    started_s, version = time.time() - uptime_s, now.settings["version"]
    clock = datetime.fromtimestamp(started_s, timezone.utc).strftime("%H:%M:%S UTC")
    upgraded = "" if version == before.settings["version"] else f" with version {version}"
    if now.identity != before.identity:
        what = f"{name} is another server than before{upgraded}; it was started at {clock}"
        return event_row(name, "mysql", "replaced", what, at_s=time.time(), details={"version": version})
    if now.started_s - before.started_s > _UPTIME_S:
        what = f"{name} was restarted at {clock}{upgraded}"
        return event_row(name, "mysql", "restarted", what, at_s=started_s, details={"version": version})
    return None


def _named(connection: Connection[Cursor], what: str, names: Sequence[str]) -> Mapping[str, str]:
    """Status or system variables; those that the server does not have are left out."""
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW GLOBAL {what} WHERE Variable_name IN %s", [names])
        return dict(cursor.fetchall())


def _rows(connection: Connection[Cursor], sql: str) -> list[Mapping[str, Any]] | None:
    """None when the server does not know the statement, or the account may not run it."""
    with connection.cursor() as cursor:
        try:
            cursor.execute(sql)
        except MySQLError as error:
            if error.args and error.args[0] < _OF_CONNECTION:
                return None
            raise
        columns = [each[0] for each in cursor.description or ()]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
