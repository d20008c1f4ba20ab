"""Reads finished statements from performance_schema, and makes entries of them as of a slow log's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from ...slowlog.entry import Entry
from ...slowlog.rows import CUT
from ...slowlog.statement import read_statement
from ..capabilities import rows
from ..connection import Connection, Counting
from ..thread_waits import Key, Ran, ThreadWaits, Waits
from .seen import Mark, Seen

Table = Literal["events_statements_history_long", "events_statements_history"]
SUMMARY: Final = "events_statements_summary_global_by_event_name"
_DOTS: Final = b"..."
_MOST_CUT_BYTES: Final = 6
"""A text that is cut ends with the dots, and before them may lack bytes of a character."""
_ADMINISTRATIVE: Final = "statement/com/"
_NAMED: Final = {
    "statement/sql/prepare_sql": b"PREPARE",
    "statement/sql/dealloc_sql": b"DEALLOCATE PREPARE",
    "statement/com/Prepare": b"Prepare",
    "statement/com/Close stmt": b"Close stmt",
}
"""MySQL has the text of the prepared statement for these; it did not run."""
_NAMED_STARTS: Final = (b"PREP", b"DEAL", b"DROP")

_SERVER: Final = (
    "SELECT thread_id, @@performance_schema_events_statements_history_long_size,"
    " @@performance_schema_max_sql_text_length FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID()"
)
_HAS_CPU_TIME: Final = (
    "SELECT 1 FROM information_schema.columns"
    " WHERE table_schema = 'performance_schema' AND table_name = %s AND column_name = 'CPU_TIME'"
)
# NOW() and timer_start are of the same moment, the start of this statement
_MARK: Final = f"""
SELECT timer_start, CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS UNSIGNED), counted, counted_nested
FROM performance_schema.events_statements_current,
    (
        SELECT
            CAST(SUM(IF(event_name LIKE 'statement/sp/%%', 0, count_star)) AS UNSIGNED) AS counted,
            CAST(SUM(IF(event_name LIKE 'statement/sp/%%', count_star, 0)) AS UNSIGNED) AS counted_nested
        FROM performance_schema.{SUMMARY}
    ) AS summary
WHERE thread_id = %s AND nesting_event_level = 0
"""  # noqa: S608  constants
_THREADS: Final = (
    "SELECT thread_id, processlist_id, processlist_user, processlist_host FROM performance_schema.threads"
    " WHERE processlist_id IS NOT NULL"
)


class Statement(NamedTuple):
    """A row of the ring; the names are those of its columns, times are picoseconds."""

    thread_id: int
    event_id: int
    end_event_id: int
    timer_start: int
    timer_end: int
    event_name: str
    sql_text: bytes | None
    current_schema: str | None
    lock_time: int
    cpu_time: int
    """0: unknown."""
    mysql_errno: int | None
    rows_affected: int
    rows_sent: int
    rows_examined: int
    created_tmp_tables: int
    created_tmp_disk_tables: int
    select_scan: int
    select_full_join: int
    sort_rows: int
    sort_merge_passes: int
    no_index_used: int

    @property
    def key(self) -> Key:
        return self.thread_id, self.event_id

    @property
    def query_ns(self) -> int:
        return (self.timer_end - self.timer_start) // 1000

    @property
    def lock_ns(self) -> int:
        """MariaDB can have more than the statement took."""
        return min(self.lock_time // 1000, self.query_ns)

    def ran(self) -> Ran:
        return Ran(self.key, self.end_event_id, self.query_ns, self.lock_ns, self.cpu_time // 1000)


_COLUMNS: Final = {name: name for name in Statement._fields} | {"sql_text": "CAST(sql_text AS BINARY)"}
_STATEMENTS: Final = "SELECT {columns} FROM performance_schema.{table} WHERE timer_end > %s AND nesting_event_level = 0"


@dataclass(frozen=True)
class Thread:
    """Of a connection, as performance_schema knows it."""

    connection_id: int = 0
    user: str = ""
    host: str = ""


@dataclass(frozen=True)
class Found:
    """What one look read."""

    entries: Sequence[Entry]
    seen: Seen
    counted: int
    """Statements of the server until now, those within procedures too: all that wrote into the ring."""


@dataclass
class Reading:
    """Reads from one connection."""

    connection: Connection
    table: Table
    thread_id: int
    ring: int
    """So many statements of all connections are kept."""
    most_text_bytes: int
    statements: str
    waits: ThreadWaits
    has_row_lock_time: bool
    """LOCK_TIME is that of row locks."""
    threads: dict[int, Thread] = field(default_factory=dict)
    """At the last look; a connection may have ended since."""

    def look(self, seen: Seen) -> Found:
        """Read what is new."""
        start_ps, now_us, counted, nested = rows(self.connection, _MARK, [self.thread_id])[0]
        own = self.connection.statements if isinstance(self.connection, Counting) else 0
        ring = map(Statement._make, rows(self.connection, self.statements, [seen.since_ps]))
        new = [each for each in ring if seen.is_new(each.thread_id, each.event_id)]
        before, self.threads = self.threads, self._threads()
        known = {**before, **self.threads}
        end_ps = next((each.timer_end for each in new if self._is_mark(each, start_ps)), start_ps)
        mark = Mark(self.thread_id, own, start_ps, end_ps, counted)
        after = seen.after(mark, ((each.thread_id, each.event_id, each.timer_end) for each in new))
        origin_us = now_us - start_ps // 1_000_000
        own_threads = (self.thread_id, seen.thread_id)
        others = [each for each in new if each.thread_id not in own_threads]
        waits = self.waits.of(self.connection, [each.ran() for each in others])
        entries = [
            self._entry(each, known.get(each.thread_id, Thread()), waits.get(each.key), origin_us) for each in others
        ]
        return Found(entries, after, counted + nested)

    def _entry(self, statement: Statement, thread: Thread, waits: Waits | None, origin_us: int) -> Entry:
        """
        The statement as a slow log's entry.

        Args:
            waits: None: unknown.
            origin_us: Unix time at which the server's timer was 0.
        """
        flags = {
            "is_full_scan": statement.select_scan or statement.no_index_used,
            "is_full_join": statement.select_full_join,
            "is_tmp_table": statement.created_tmp_tables,
            "is_tmp_table_on_disk": statement.created_tmp_disk_tables,
            "is_filesort": statement.sort_rows,
            "is_filesort_on_disk": statement.sort_merge_passes,
        }
        counts = {
            "Created_tmp_tables": statement.created_tmp_tables,
            "Created_tmp_disk_tables": statement.created_tmp_disk_tables,
            "Sort_rows": statement.sort_rows,
            "Sort_merge_passes": statement.sort_merge_passes,
        }
        fields = {name: str(value) for name, value in counts.items() if value}
        text, is_cut = _logged(statement.event_name, statement.sql_text, self.most_text_bytes)
        if is_cut:
            fields.update([CUT])
        if waits:
            fields["thread_waits"] = "divided" if waits.is_divided else "exact"
        return Entry(
            statement.query_ns,
            origin_us + statement.timer_start // 1_000_000,
            lock_ns=statement.lock_ns + (waits.metadata_ns if waits else 0),
            row_lock_ns=statement.lock_ns if self.has_row_lock_time else 0,
            io_wait_ns=waits.io_ns if waits else 0,
            cpu_ns=statement.cpu_time // 1000,
            rows_sent=statement.rows_sent,
            rows_examined=statement.rows_examined,
            rows_affected=statement.rows_affected,
            database=statement.current_schema or "",
            user=thread.user,
            client_host=thread.host,
            connection_id=thread.connection_id,
            errno=statement.mysql_errno or 0,
            flags=frozenset(name for name, value in flags.items() if value),
            fields=fields,
            position=statement.event_id,
            read=read_statement(text if is_cut else text + b";"),
        )

    def _is_mark(self, statement: Statement, start_ps: int) -> bool:
        return statement.thread_id == self.thread_id and statement.timer_start == start_ps

    def _threads(self) -> dict[int, Thread]:
        found = rows(self.connection, _THREADS)
        return {
            thread_id: Thread(connection_id, user or "", host or "") for thread_id, connection_id, user, host in found
        }


def reading(connection: Connection, table: Table) -> Reading:
    """Prepare reading from a table that can be read."""
    thread_id, ring, most_text_bytes = rows(connection, _SERVER)[0]
    has_cpu_time = bool(rows(connection, _HAS_CPU_TIME, [table]))
    columns = _COLUMNS if has_cpu_time else {**_COLUMNS, "cpu_time": "0"}
    statements = _STATEMENTS.format(columns=", ".join(columns.values()), table=table)
    # both came with MySQL 8.0.28
    return Reading(
        connection, table, thread_id, ring, most_text_bytes, statements, ThreadWaits(connection), has_cpu_time
    )


def _logged(event_name: str, text: bytes | None, most_text_bytes: int) -> tuple[bytes, bool]:
    """The text as a slow log has it, and whether its end is missing."""
    if event_name in _NAMED and (text or b"").lstrip()[:4].upper() not in _NAMED_STARTS:
        return _NAMED[event_name], False
    if text is None:
        return event_name.removeprefix(_ADMINISTRATIVE).encode(), False
    is_cut = text.endswith(_DOTS) and len(text) > most_text_bytes - _MOST_CUT_BYTES
    return text.removesuffix(_DOTS) if is_cut else text, is_cut
