"""How loaded a MySQL or MariaDB server is: its own counters, each second, into mysql_status; and its restarts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from itertools import chain
from typing import Any

from pymysql.constants import ER
from pymysql.cursors import DictCursor
from pymysql.err import MySQLError

from ..events import TABLE as EVENTS
from ..events import event_row
from ..look import Look
from ..writer import Row, Writer
from .capabilities import Capabilities, capabilities, rows
from .connection import Connection

TABLE = "mysql_status"
_SLOWLY_S = 5.0
"""Between two looks at what changes slowly: history list, replication, the limit of connections."""
_LONGEST_NS = 60_000_000_000
"""Counters of a longer time are of no moment."""
_SETTINGS = ("version", "max_connections")
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
_REPLICAS_SINCE = (8, 0, 22)
_LAGS = ("Seconds_Behind_Source", "Seconds_Behind_Master")


class StatusLook(Look[Connection]):
    """Asks a server for its counters."""

    def __init__(self, name: str, writer: Writer) -> None:
        super().__init__(name, writer)
        self._has: Capabilities | None = None
        self._version = ""
        self._before: tuple[int, Mapping[str, int]] | None = None
        """When, by the monotonic clock, and the counters."""
        self._slowly: Mapping[str, Any] = {}
        self._slowly_due_s = 0.0
        self._refused_since_s, self._refused_until_s, self._refused = 0.0, 0.0, 0

    def opened(self, connection: Connection) -> str:
        """Find out whether it is the same server as before, and the same run of it."""
        has, version = capabilities(connection), _named(connection, "VARIABLES", _SETTINGS)["version"]
        if event := self._has and self._changed(self._has, has, version):
            self.writer.add(EVENTS, [event])
            self._before = None
        self._has, self._version = has, version
        self._slowly, lacks = _look_slowly(connection, has)
        self._slowly_due_s = time.monotonic() + _SLOWLY_S
        return "; ".join(f"{lack} ON *.* TO {has.account}" for lack in lacks)

    def look(self, connection: Connection) -> None:
        """See Look. After a gap the first row is that of the second look."""
        if self._has is None:
            return
        if time.monotonic() >= self._slowly_due_s:
            self._slowly, _ = _look_slowly(connection, self._has)
            self._slowly_due_s = time.monotonic() + _SLOWLY_S
        counters = _OF_MARIADB if self._has.is_mariadb else _COUNTERS
        found = _named(connection, "STATUS", [*_GAUGES, *chain(*counters.values())])
        now_ns, before = time.monotonic_ns(), self._before
        sums = {column: sum(int(found.get(name, 0)) for name in names) for column, names in counters.items()}
        self._before = now_ns, sums
        if not before or now_ns - before[0] > _LONGEST_NS:
            return
        added = {column: max(number - before[1][column], 0) for column, number in sums.items()}
        added["row_lock_wait_ns"] *= 1_000_000
        self.writer.add(TABLE, [self._row(found, added, now_ns - before[0])])
        if refused := added["refused_connections"]:
            self._limit_reached(refused, (now_ns - before[0]) / 1e9)

    def _row(self, found: Mapping[str, str], added: Mapping[str, int], over_ns: int) -> Row:
        dirty, pages = (int(found.get(f"Innodb_buffer_pool_pages_{each}", 0)) for each in ("dirty", "total"))
        history = found.get("Innodb_history_list_length")
        return {
            "at": f"{time.time():.3f}",
            "server": self.name,
            "version": self._version,
            "over_ns": over_ns,
            "uptime_s": int(found["Uptime"]),
            "threads_running": max(int(found["Threads_running"]) - 1, 0),  # this look
            "threads_connected": int(found["Threads_connected"]),
            "dirty_share": dirty / max(pages, 1),
            **added,
            **self._slowly,
            **({"history_list": int(history)} if history else {}),
        }

    def _limit_reached(self, refused: int, over_s: float) -> None:
        """The event goes on while clients are refused at least once a minute."""
        now_s = time.time()
        if now_s - self._refused_until_s > _LONGEST_NS / 1e9:
            self._refused_since_s, self._refused = now_s - over_s, 0
        self._refused += refused
        self._refused_until_s, limit = now_s, self._slowly["max_connections"]
        # MariaDB does not count those that it refuses after their login
        clients = "1 client" if self._refused == 1 else f"{self._refused} clients"
        what = f"{self.name} refused at least {clients}: all {limit} of max_connections were used"
        event = event_row(
            *(self.name, "mysql", "connection_limit", what),
            at_s=self._refused_since_s,
            until_s=now_s,
            number=self._refused,
        )
        self.writer.add(EVENTS, [event])

    def _changed(self, before: Capabilities, now: Capabilities, version: str) -> Row | None:
        """The event, when it is not the same run of the same server."""
        clock = datetime.fromtimestamp(now.started_s, timezone.utc).strftime("%H:%M:%S UTC")
        upgraded = "" if version == self._version else f" with version {version} instead of {self._version}"
        details = {"version": version}
        if now.server_id != before.server_id:
            what = f"{self.name} is another server than before{upgraded}; it was started at {clock}"
            return event_row(self.name, "mysql", "replaced", what, at_s=time.time(), details=details)
        if abs(now.started_s - before.started_s) > 1:
            what = f"{self.name} was restarted at {clock}{upgraded}"
            return event_row(self.name, "mysql", "restarted", what, at_s=now.started_s, details=details)
        return None


def _look_slowly(connection: Connection, has: Capabilities) -> tuple[Mapping[str, Any], Sequence[str]]:
    """Columns of a row, and the begin of the GRANT for each that this account may not see: it is unknown."""
    lacks, history, lags = [], None, []
    if not has.is_mariadb:
        try:
            history = rows(connection, _HISTORY)[0][0]
        except MySQLError as error:
            lacks.append(_denied(error, "its history list is unknown: GRANT PROCESS"))
    try:
        lags = _lags(connection, has)
    except MySQLError as error:
        privilege = "REPLICA MONITOR" if has.is_mariadb else "REPLICATION CLIENT"
        lacks.append(_denied(error, f"its replication lag is unknown: GRANT {privilege}"))
    columns = {
        "max_connections": int(_named(connection, "VARIABLES", _SETTINGS)["max_connections"]),
        "history_list": history,
        "replication_lag_s": max(lags) if lags and None not in lags else None,
    }
    return columns, lacks


def _denied(error: MySQLError, lacks: str) -> str:
    if error.args[0] != ER.SPECIFIC_ACCESS_DENIED_ERROR:
        raise error
    return lacks


def _lags(connection: Connection, has: Capabilities) -> list[Any]:
    """Of each source; None for one that is stopped."""
    statement = "SHOW ALL SLAVES STATUS" if has.is_mariadb else "SHOW REPLICA STATUS"
    if not has.is_mariadb and has.version < _REPLICAS_SINCE:
        statement = "SHOW SLAVE STATUS"
    with connection.cursor(DictCursor) as cursor:
        cursor.execute(statement)
        return [row[name] for row in cursor.fetchall() for name in _LAGS if name in row]


def _named(connection: Connection, what: str, names: Sequence[str]) -> Mapping[str, str]:
    """Status or system variables; those that the server does not have are left out."""
    return dict(rows(connection, f"SHOW GLOBAL {what} WHERE Variable_name IN %s", [names]))
