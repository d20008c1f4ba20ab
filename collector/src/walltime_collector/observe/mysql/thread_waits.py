"""How long statements waited for the disk and for metadata locks, from the sums that the server keeps of its threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .capabilities import rows
from .connection import Connection

_DISK = ("innodb/innodb_data_file", "innodb/innodb_log_file", "innodb/innodb_temp_file", "sql/binlog")
_METADATA = "wait/lock/metadata/sql/mdl"
_SUMS = (
    "SELECT thread_id, SUM(IF(event_name = %s, 0, sum_timer_wait)) DIV 1000,"
    " SUM(IF(event_name = %s, sum_timer_wait, 0)) DIV 1000"
    " FROM performance_schema.events_waits_summary_by_thread_by_event_name"
    " WHERE event_name IN %s AND thread_id IN %s GROUP BY thread_id"
)
_NEWEST = "SELECT MAX(thread_id) FROM performance_schema.threads"
_MOST_THREADS = 10_000
"""Are remembered."""
Key: TypeAlias = tuple[int, int]
"""Thread id and event id."""


@dataclass(frozen=True)
class Ran:
    """A statement that is over."""

    key: Key
    query_ns: int
    lock_ns: int
    cpu_ns: int
    """0: unknown."""

    @property
    def unexplained_ns(self) -> int:
        """Neither waiting for row locks nor on a CPU."""
        return max(self.query_ns - self.lock_ns - self.cpu_ns, 0)


@dataclass(frozen=True)
class Waits:
    """Of a statement, nanoseconds; at most its time without waits for row locks."""

    io_ns: int
    """For files of tables, of the redo log and of the binary log."""
    metadata_ns: int


class ThreadWaits:
    """
    Divides what a thread waited since the last look among the statements that it ran.

    Exact for the only statement of a thread between two looks, as one that lasts longer than they are apart; of several,
    those with most unexplained time have most of it. What runs during a look counts for the next one.
    """

    def __init__(self, connection: Connection) -> None:
        ((self._newest,),) = rows(connection, _NEWEST)
        self._before: dict[int, tuple[int, int]] = {}

    def of(self, connection: Connection, statements: Sequence[Ran]) -> Mapping[Key, Waits]:
        """
        The waits of these statements: all that ended since the last call.

        Those of threads that are gone, or are seen for the first time, are unknown.
        """
        if not statements:
            return {}
        ran: dict[int, list[Ran]] = defaultdict(list)
        for each in statements:
            ran[each.key[0]].append(each)
        names = [*(f"wait/io/file/{each}" for each in _DISK), _METADATA]
        found: dict[Key, Waits] = {}
        for thread, *sums_ns in rows(connection, _SUMS, [_METADATA, _METADATA, names, list(ran)]):
            now = int(sums_ns[0]), int(sums_ns[1])
            before = self._before.pop(thread, (0, 0) if thread > self._newest else None)
            if before:
                found.update(_divided(ran[thread], *(new - old for new, old in zip(now, before, strict=True))))
            self._before[thread] = now
        if len(self._before) > _MOST_THREADS:
            self._newest = max(self._newest, *self._before)
            self._before.clear()
        return found


def _divided(ran: Sequence[Ran], io_ns: int, metadata_ns: int) -> Iterator[tuple[Key, Waits]]:
    whole_ns = sum(each.unexplained_ns for each in ran)
    for each in ran:
        share = each.unexplained_ns / whole_ns if whole_ns else 1 / len(ran)
        most_ns = max(each.query_ns - each.lock_ns, 0)
        io = min(max(round(io_ns * share), 0), most_ns)
        yield each.key, Waits(io, min(max(round(metadata_ns * share), 0), most_ns - io))
