"""What connections do, and what they did in their transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Final

from ..capabilities import Capabilities, rows
from ..connection import Connection
from .wait import Session, said

# The end of a statement that runs is now: that of this very statement, as this connection is always among those asked.
_STATEMENTS: Final = """
SELECT t.processlist_id, s.event_id, s.end_event_id IS NULL AS is_running, s.timer_start, s.timer_end, s.sql_text,
    x.timer_wait, COALESCE(x.nesting_event_id, x.event_id)
FROM (
    SELECT thread_id, event_id, end_event_id, timer_start, timer_end, sql_text
    FROM performance_schema.events_statements_current
    WHERE thread_id IN (SELECT thread_id FROM performance_schema.threads WHERE processlist_id IN %s)
    UNION ALL
    SELECT thread_id, event_id, end_event_id, timer_start, timer_end, sql_text
    FROM performance_schema.events_statements_history
    WHERE thread_id IN (SELECT thread_id FROM performance_schema.threads WHERE processlist_id IN %s)
) s
JOIN performance_schema.threads t ON t.thread_id = s.thread_id
LEFT JOIN performance_schema.events_transactions_current x ON x.thread_id = s.thread_id AND x.state = 'ACTIVE'
ORDER BY t.processlist_id, s.event_id
"""
_PROCESSES: Final = """
SELECT p.id, p.command = 'Sleep', {time_ms}, p.info,
    TIMESTAMPDIFF(SECOND, x.trx_started, CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM'))
FROM information_schema.processlist p
LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id
WHERE p.id IN %s
"""
_ENDS: Final = frozenset({"COMMIT", "ROLLBACK"})


class Sessions(ABC):
    """Where sessions are read."""

    @abstractmethod
    def read(self, connection: Connection, connection_ids: Collection[int]) -> Mapping[int, Session]:
        """Those of them that are there."""


class OfStatements(Sessions):
    """Of performance_schema: also the last statements of a connection that is idle."""

    def __init__(self, has: Capabilities) -> None:
        self._mine = has.connection_id

    def read(self, connection: Connection, connection_ids: Collection[int]) -> Mapping[int, Session]:
        """See Sessions."""
        ids = (*connection_ids, self._mine)
        found = rows(connection, _STATEMENTS, (ids, ids))
        now_ps = max((row[4] for row in found if row[2]), default=0)
        sessions: dict[int, Session] = {}
        ended_ps: dict[tuple[int, int], int] = {}
        for connection_id, event_id, is_running, start_ps, end_ps, text, transaction_ps, first in found:
            before = sessions.get(connection_id, Session()).statements
            # the last one is in both tables
            earlier = [each for each in before if each[0] < event_id]
            began_with, paused_ps = event_id, 0
            if earlier and said(text or "").redacted.upper() in _ENDS:
                # what held the lock is over, or about to be: the transaction is that of the statement before
                began_with = earlier[-1][0]
                paused_ps = start_ps - ended_ps[connection_id, began_with]
            ended_ps[connection_id, event_id] = end_ps
            sessions[connection_id] = Session(
                (*earlier, *([(event_id, text)] if text else ())),
                began_with if first is None else first,
                max(now_ps - start_ps, 0) // 1_000 if is_running else None,
                0 if is_running else max(now_ps - end_ps, 0) // 1_000,
                (transaction_ps or 0) // 1_000,
                paused_ps // 1_000 if paused_ps > end_ps - start_ps else 0,
            )
        return sessions


class OfProcesses(Sessions):
    """
    Of the list of processes: what a connection runs.

    Of one that is idle only what it was seen running while it was a part of waits.
    """

    def __init__(self, has: Capabilities) -> None:
        self._statement = _PROCESSES.format(time_ms="p.time_ms" if has.is_mariadb else "p.time * 1000")
        self._seen: dict[int, str] = {}

    def read(self, connection: Connection, connection_ids: Collection[int]) -> Mapping[int, Session]:
        """See Sessions."""
        sessions = {}
        seen = self._seen
        self._seen = {}
        for connection_id, is_idle, time_ms, text, transaction_s in rows(
            connection, self._statement, ((*connection_ids, 0),)
        ):
            last = text or seen.get(connection_id, "")
            if last:
                self._seen[connection_id] = last
            time_ns = max(int(time_ms * 1_000_000), 0)
            sessions[connection_id] = Session(
                ((0, last),) if last else (),
                0,
                None if is_idle else time_ns,
                time_ns if is_idle else 0,
                0 if transaction_s is None else max(transaction_s * 10**9, time_ns),
            )
        return sessions
