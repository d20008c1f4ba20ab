"""How long statements waited for the disk and for metadata locks, from what the server keeps of its threads."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_ONE_BY_ONE = (
    "SELECT thread_id, event_id, timer_wait DIV 1000, event_name = %s"
    " FROM performance_schema.events_waits_history_long WHERE event_name IN %s"
)
"""None while its consumer is off, as by default; the oldest are overwritten."""
_NEARLY_ALL = 0.95
_WITH_CPU = 2
"""Reading takes CPU time too: a wait for the disk is at most so many times the time that CPUs do not explain."""
_MOST_THREADS = 10_000
"""Are remembered; then all are read anew."""
Key: TypeAlias = tuple[int, int]
"""Thread id and event id."""


@dataclass(frozen=True)
class Ran:
    """A statement that is over."""

    key: Key
    end_event_id: int
    """Events of its thread from its own id until here are inside of it."""
    query_ns: int
    lock_ns: int
    cpu_ns: int
    """0: unknown."""

    @property
    def unexplained_ns(self) -> int:
        """Neither in waits for row locks nor on a CPU."""
        return max(self.query_ns - self.lock_ns - self.cpu_ns, 0)

    def weight(self, known: _Sums) -> float:
        """Its time that nothing explains yet; less where that is a small part, likely waiting for a CPU."""
        return float(max(self.unexplained_ns - sum(known), 0)) ** 2 / max(self.query_ns, 1)


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
    Divides what threads waited since the last look among the statements that they ran.

    Exact where performance_schema keeps waits one by one, and for the only statement of a thread between two looks, as
    one that lasts longer than they are apart. Of several, those with most time that nothing else explains have most of
    it. Connections that ended in between share what the accounts waited beside the other threads.
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
        known = _one_by_one(connection, ran)
        found: dict[Key, Waits] = {}
        before, self._all = self._all, _all(connection)
        left = self._all.minus(before)
        for thread, now in _threads(connection, list(ran)).items():
            waited = now.minus(self._threads.get(thread, _NOTHING))  # it is new
            left = left.minus(waited)
            divided = dict(_divided(ran.pop(thread), known, waited))
            found.update(divided)
            # what they cannot have waited is of the statement that runs now
            self._threads[thread] = now.minus(waited.minus(_sum(divided.values())))
        found.update(_divided([each for own in ran.values() for each in own], known, left))
        if len(self._threads) > _MOST_THREADS:
            self._threads = _threads(connection)
        return found


class _Sums(NamedTuple):
    io_ns: int
    metadata_ns: int

    def minus(self, other: _Sums) -> _Sums:
        return _Sums(max(self.io_ns - other.io_ns, 0), max(self.metadata_ns - other.metadata_ns, 0))


_NOTHING = _Sums(0, 0)


def _sum(of: Iterable[_Sums | Waits]) -> _Sums:
    several = list(of)
    return _Sums(sum(each.io_ns for each in several), sum(each.metadata_ns for each in several))


def _threads(connection: Connection, ids: Sequence[int] = ()) -> dict[int, _Sums]:
    """Of these threads, or of all."""
    some, values = (" AND thread_id IN %s", [ids]) if ids else ("", [])
    statement = f"{_OF_THREADS}{some} GROUP BY thread_id"
    found = rows(connection, statement, [_METADATA, _METADATA, _NAMES, *values])
    return {thread: _Sums(int(io_ns), int(metadata_ns)) for thread, io_ns, metadata_ns in found}


def _all(connection: Connection) -> _Sums:
    ((io_ns, metadata_ns),) = rows(connection, _OF_ALL, [_METADATA, _METADATA, _NAMES])
    return _Sums(int(io_ns or 0), int(metadata_ns or 0))


def _one_by_one(connection: Connection, ran: Mapping[int, Sequence[Ran]]) -> Mapping[Key, _Sums]:
    """What is kept of each statement."""
    found: dict[Key, _Sums] = {}
    in_order = {thread: sorted(own, key=lambda each: each.key) for thread, own in ran.items()}
    for thread, event_id, wait_ns, is_metadata in rows(connection, _ONE_BY_ONE, [_METADATA, _NAMES]):
        own = in_order.get(thread, [])
        at = bisect_left(own, (thread, event_id), key=lambda each: each.key) - 1  # the last that began before
        if at >= 0 and event_id <= own[at].end_event_id:
            io_ns, metadata_ns = found.get(own[at].key, _NOTHING)
            more = _Sums(0, wait_ns) if is_metadata else _Sums(wait_ns, 0)
            found[own[at].key] = _Sums(io_ns + more.io_ns, metadata_ns + more.metadata_ns)
    return found


def _divided(ran: Sequence[Ran], known: Mapping[Key, _Sums], waited: _Sums) -> Iterator[tuple[Key, Waits]]:
    """What is known of each, and its part of the rest."""
    own = [known.get(each.key, _NOTHING) for each in ran]
    rest = waited.minus(_sum(own))
    weights = [each.weight(kept) for each, kept in zip(ran, own, strict=True)]
    whole = sum(weights)
    if sum(rest) <= sum(waited) * (1 - _NEARLY_ALL):
        rest = _NOTHING
    for each, kept, weight in zip(ran, own, weights, strict=True):
        share = weight / whole if whole else 1 / len(ran)
        most_ns = max(each.query_ns - each.lock_ns, 0)
        likely_ns = [min(round(rest_ns * share), _WITH_CPU * each.unexplained_ns) for rest_ns in rest]
        io_ns = min(kept.io_ns + likely_ns[0], most_ns)
        metadata_ns = min(kept.metadata_ns + likely_ns[1], most_ns - io_ns)
        yield each.key, Waits(io_ns, metadata_ns, is_divided=len(ran) > 1 and rest != _NOTHING)
