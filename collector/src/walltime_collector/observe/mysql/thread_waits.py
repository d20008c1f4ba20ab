"""How long statements waited for the disk and for metadata locks, from the sums that the server keeps of its threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from .capabilities import rows
from .connection import Connection

_DISK = ("innodb/innodb_data_file", "innodb/innodb_log_file", "innodb/innodb_temp_file", "sql/binlog")
_METADATA = "wait/lock/metadata/sql/mdl"
_NAMES = (*(f"wait/io/file/{each}" for each in _DISK), _METADATA)
_COLUMNS = (
    "SUM(IF(event_name = %s, 0, sum_timer_wait)) DIV 1000, SUM(IF(event_name = %s, sum_timer_wait, 0)) DIV 1000"
    " FROM performance_schema.events_waits_summary_by_{what}_by_event_name WHERE event_name IN %s"
)
_OF_THREADS = f"SELECT thread_id, {_COLUMNS.format(what='thread')}"
_OF_ALL = f"SELECT {_COLUMNS.format(what='account')} AND user IS NOT NULL"
"""Also of threads that are gone; those without a user are the server's own."""
_MOST_THREADS = 10_000
"""Are remembered; then all are read anew."""
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
    """Of a statement; together they are at most its time without waits for row locks."""

    io_ns: int
    """For files of tables, of the redo log and of the binary log."""
    metadata_ns: int
    is_divided: bool
    """It is the most likely part of what several statements waited."""


class ThreadWaits:
    """
    Divides what a thread waited since the last look among the statements that it ran.

    Exact for the only statement of a thread between two looks, as one that lasts longer than they are apart; of
    several, those with most unexplained time have most of it. Connections that ended in between share what the
    accounts waited beside the other threads. What runs during a look counts for the next one.
    """

    def __init__(self, connection: Connection) -> None:
        self._threads = _threads(connection)
        self._all = _all(connection)

    def of(self, connection: Connection, statements: Sequence[Ran]) -> Mapping[Key, Waits]:
        """The waits of these statements: all that ended since the last call."""
        if not statements:
            return {}
        ran: dict[int, list[Ran]] = defaultdict(list)
        for each in statements:
            ran[each.key[0]].append(each)
        found: dict[Key, Waits] = {}
        before, self._all = self._all, _all(connection)
        left = self._all.minus(before)
        for thread, now in _threads(connection, list(ran)).items():
            waited = now.minus(self._threads.get(thread, _NOTHING))  # it is new
            left = left.minus(waited)
            found.update(_divided(ran.pop(thread), waited))
            self._threads[thread] = now
        gone = [each for own in ran.values() for each in own]
        found.update(_divided(gone, left))
        if len(self._threads) > _MOST_THREADS:
            self._threads = _threads(connection)
        return found


class _Sums(NamedTuple):
    io_ns: int
    metadata_ns: int

    def minus(self, other: _Sums) -> _Sums:
        return _Sums(max(self.io_ns - other.io_ns, 0), max(self.metadata_ns - other.metadata_ns, 0))


_NOTHING = _Sums(0, 0)


def _threads(connection: Connection, ids: Sequence[int] = ()) -> dict[int, _Sums]:
    """Of these threads, or of all."""
    some, values = (" AND thread_id IN %s", [ids]) if ids else ("", [])
    statement = f"{_OF_THREADS}{some} GROUP BY thread_id"
    found = rows(connection, statement, [_METADATA, _METADATA, _NAMES, *values])
    return {thread: _Sums(int(io_ns), int(metadata_ns)) for thread, io_ns, metadata_ns in found}


def _all(connection: Connection) -> _Sums:
    ((io_ns, metadata_ns),) = rows(connection, _OF_ALL, [_METADATA, _METADATA, _NAMES])
    return _Sums(int(io_ns or 0), int(metadata_ns or 0))


def _divided(ran: Sequence[Ran], waited: _Sums) -> Iterator[tuple[Key, Waits]]:
    whole_ns = sum(each.unexplained_ns for each in ran)
    for each in ran:
        share = each.unexplained_ns / whole_ns if whole_ns else 1 / len(ran)
        most_ns = max(each.query_ns - each.lock_ns, 0)
        io_ns = min(round(waited.io_ns * share), most_ns)
        metadata_ns = min(round(waited.metadata_ns * share), most_ns - io_ns)
        yield each.key, Waits(io_ns, metadata_ns, is_divided=len(ran) > 1)
