"""Waits for metadata locks: ALTER TABLE behind an open transaction, LOCK TABLES, GET_LOCK, a global read lock."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..capabilities import rows
from ..connection import Connection
from .row_locks import nearest
from .wait import Lock, Pair

_STATES: Final = "(state LIKE 'Waiting for %lock' OR state = 'User lock')"
WAITING: Final = "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE lock_status = 'PENDING'"
WAITING_STATE: Final = f"SELECT COUNT(*) FROM information_schema.processlist WHERE {_STATES}"  # noqa: S608
"""How many wait; without performance_schema."""
_LOCKS: Final = """
SELECT l.object_type, l.object_schema, l.object_name, l.lock_type, l.lock_status = 'GRANTED', t.processlist_id,
    l.owner_event_id
FROM performance_schema.metadata_locks l
JOIN (
    SELECT DISTINCT object_type, object_schema, object_name FROM performance_schema.metadata_locks
    WHERE lock_status = 'PENDING'
) p ON p.object_type = l.object_type AND p.object_schema <=> l.object_schema AND p.object_name <=> l.object_name
JOIN performance_schema.threads t ON t.thread_id = l.owner_thread_id
WHERE t.processlist_id IS NOT NULL
LIMIT 2000
"""
_GRANTED: Final = """
SELECT lock_type, table_schema, table_name, lock_mode, thread_id FROM information_schema.metadata_lock_info LIMIT 2000
"""
_WAITERS: Final = f"""
SELECT id, state, info FROM information_schema.processlist WHERE {_STATES} LIMIT 500
"""  # noqa: S608  constants
PLUGIN: Final = "SELECT 1 FROM information_schema.plugins WHERE plugin_name = 'METADATA_LOCK_INFO'"

# as in sql/mdl.cc: what a request has to wait for when another connection has it
_ORDER: Final = (
    *("SHARED", "SHARED_HIGH_PRIO", "SHARED_READ", "SHARED_WRITE", "SHARED_WRITE_LOW_PRIO", "SHARED_UPGRADABLE"),
    *("SHARED_READ_ONLY", "SHARED_NO_WRITE", "SHARED_NO_READ_WRITE", "EXCLUSIVE"),
)
_CONFLICTS: Final = (
    *(".........X", ".........X", "........XX", "......XXXX", "......XXXX", ".....X.XXX"),
    *("...XX...XX", "...XXX.XXX", "..XXXXXXXX", "XXXXXXXXXX"),
)
_IN_SCOPE: Final = {"INTENTION_EXCLUSIVE": {"SHARED", "EXCLUSIVE"}, "SHARED": {"INTENTION_EXCLUSIVE", "EXCLUSIVE"}}
_BEHIND: Final[Mapping[str, frozenset[str]]] = {
    "EXCLUSIVE": frozenset(_ORDER) - {"SHARED_HIGH_PRIO", "EXCLUSIVE"},
    "SHARED_NO_READ_WRITE": frozenset(("SHARED_READ", "SHARED_WRITE", "SHARED_WRITE_LOW_PRIO", "SHARED_READ_ONLY")),
    "SHARED_NO_WRITE": frozenset(("SHARED_WRITE", "SHARED_WRITE_LOW_PRIO")),
}
"""Requests that wait behind another request that waits itself."""
_OF_LOCK_TABLES: Final = {"SHARED_NO_READ_WRITE", "SHARED_READ_ONLY"}
_LOCKING_READS: Final = ("for update", "for share", "lock in share mode")
_WRITES: Final = {"select", "insert", "update", "delete", "replace", "load"}


@dataclass(frozen=True)
class _Held:
    """A lock that a connection has, or waits for; `name` is compared, never stored."""

    sort: str
    schema: str
    name: str
    mode: str
    is_granted: bool
    connection_id: int
    event_id: int | None = None

    @property
    def shown(self) -> str:
        """`shop.products`; of what is no table its sort: the name of a user's lock may be a secret."""
        return f"{self.schema}.{self.name}" if self.sort == "TABLE" else self.sort.lower()


def pairs(connection: Connection) -> Sequence[Pair]:
    """Who waits for whom now, of performance_schema."""
    locks = rows(connection, _LOCKS)
    return [*nearest(_pairs(_Held(sort, schema or "", name or "", *more) for sort, schema, name, *more in locks))]


def likely_pairs(connection: Connection, *, has_plugin: bool) -> Sequence[Pair]:
    """
    The same of MariaDB's plugin, which shows the locks that connections have, and not what the others wait for.

    That follows from the statement that waits. Without the plugin, and where nothing fits, the holder is unknown.
    """
    locks = []
    for sort, schema, name, mode, connection_id in rows(connection, _GRANTED) if has_plugin else ():
        kind = str(sort).removesuffix(" lock").removesuffix(" metadata").upper()
        locks.append(_Held(kind, schema or "", name or "", mode.removeprefix("MDL_"), True, connection_id))
    known = {(each.sort, each.schema, each.name) for each in locks}
    waiters = []
    for connection_id, state, info in rows(connection, _WAITERS):
        kind = state.removeprefix("Waiting for ").removesuffix(" lock").removesuffix(" metadata").upper()
        waiters.append(connection_id)
        mode = _wanted(info or "") if kind == "TABLE" else "EXCLUSIVE"
        of_kind = [each for each in known if each[0] == kind]
        if kind == "TABLE":
            meant = [each for each in of_kind if re.search(rf"(?<![\w$]){re.escape(each[2])}(?![\w$])", info or "")]
        else:
            meant = of_kind if len(of_kind) == 1 else []
        locks += [_Held(*each, mode, False, connection_id) for each in meant]
    found = [*nearest(_pairs(locks))]
    unknown = (each for each in waiters if each not in {pair.waiter for pair in found})
    return [*found, *(Pair(each, 0, Lock("metadata")) for each in unknown)]


def _pairs(locks: Iterable[_Held]) -> Iterator[Pair]:
    by_object: dict[tuple[str, str, str], list[_Held]] = {}
    for each in locks:
        by_object.setdefault((each.sort, each.schema, each.name), []).append(each)
    for mine in by_object.values():
        for waiter in mine:
            for holder in mine if not waiter.is_granted else ():
                if waiter.connection_id != holder.connection_id and _conflict(waiter, holder):
                    is_table = {waiter.mode, holder.mode} & _OF_LOCK_TABLES and waiter.sort == "TABLE"
                    lock = Lock(
                        "table" if is_table else "metadata",
                        waiter.shown,
                        mode=waiter.mode,
                        holder_mode=holder.mode,
                        taken_at=holder.event_id,
                    )
                    yield Pair(waiter.connection_id, holder.connection_id, lock, holder.is_granted)


def _conflict(waiter: _Held, holder: _Held) -> bool:
    if not holder.is_granted:
        return waiter.mode in _BEHIND.get(holder.mode, ())
    if waiter.sort not in ("GLOBAL", "SCHEMA", "COMMIT", "BACKUP") and {waiter.mode, holder.mode} <= {*_ORDER}:
        return _CONFLICTS[_ORDER.index(waiter.mode)][_ORDER.index(holder.mode)] == "X"
    if waiter.mode in _IN_SCOPE and (holder.mode in _IN_SCOPE or holder.mode == "EXCLUSIVE"):
        return holder.mode in _IN_SCOPE[waiter.mode]
    # of MariaDB's backup locks, those of the same mode share
    return waiter.mode != holder.mode or waiter.mode == "EXCLUSIVE"


def _wanted(statement: str) -> str:
    """The mode of the lock on its tables."""
    first, *rest = statement.lower().split()[:200] or [""]
    words = " ".join(rest)
    if first == "select" and not any(each in words for each in _LOCKING_READS):
        return "SHARED_READ"
    if first in _WRITES:
        return "SHARED_WRITE"
    if first == "lock" and rest[:1] in (["table"], ["tables"]):
        return "SHARED_NO_READ_WRITE" if "write" in words else "SHARED_READ_ONLY"
    return "EXCLUSIVE"
