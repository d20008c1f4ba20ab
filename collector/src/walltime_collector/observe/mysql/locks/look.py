"""Who waits for a lock, and who holds it: looked for a few times a second, and read while somebody waits."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pymysql

from ...look import Lacking, Look
from ..capabilities import Capabilities, capabilities, rows
from ..connection import Connection
from . import metadata, row_locks
from .sessions import OfProcesses, OfStatements, Sessions
from .wait import TABLE, Pair, Session, party, wait_row

_RARELY_S: Final = 0.25
_OFTEN_S: Final = 0.12
"""InnoDB shows its tables of waits anew every 0.1 s at most."""
_CALM_S: Final = 30.0
"""So long after somebody waited it is looked for often."""
_AGAIN_S: Final = 1.0
"""A wait that goes on is written again after so long."""
_COST: Final = 20
"""Times what a look takes, the shortest one of the last _LAST, until the next: 5 % of the time while somebody waits."""
_LAST: Final = 5
_MOST: Final = 500
"""Pairs at one time."""
_ROWS: Final = "SELECT MAX(count) FROM information_schema.innodb_metrics WHERE name = 'lock_row_lock_current_waits'"
_STATUS: Final = (
    "SELECT variable_value FROM performance_schema.global_status WHERE variable_name = 'Innodb_row_lock_current_waits'"
)
# most looks end with one of these: they take the server 0.1 to 0.3 ms
_INSTRUMENTED: Final = f"SELECT ({_STATUS}), ({metadata.WAITING})"
_PROCESSES: Final = f"SELECT ({_ROWS}), ({metadata.WAITING_STATE})"
_CONSUMERS: Final = """
SELECT COUNT(*) FROM performance_schema.setup_consumers
WHERE enabled = 'YES'
    AND name IN ('events_statements_current', 'events_statements_history', 'events_transactions_current')
"""
_INSTRUMENT: Final = """
SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE name = 'wait/lock/metadata/sql/mdl' AND enabled = 'YES'
"""
_SWITCH_ON: Final = (
    "UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name IN ('events_statements_current',"
    " 'events_statements_history', 'events_transactions_current', 'global_instrumentation', 'thread_instrumentation')"
)
_RESTART: Final = "write performance_schema=ON below [mysqld] in its my.cnf and restart it"
_INSTRUMENT_ON: Final = (
    "UPDATE performance_schema.setup_instruments SET enabled = 'YES' WHERE name IN ('wait/lock/metadata/sql/mdl',"
    " 'transaction')"
)


@dataclass
class _Wait:
    """One that goes on."""

    pair: Pair
    waiter: Session
    holder: Session
    started_s: float
    seen_s: float
    written_s: float = 0.0


class LockWaits(Look[Connection]):
    """Waits of one server. What it cannot read is said with the statement that permits it."""

    every_s = _RARELY_S
    share = 1.0
    """It has its own bound, _COST: one look that takes long on a busy machine does not blind it for seconds."""

    _has: Capabilities
    _sessions: Sessions
    _is_instrumented = _has_plugin = False

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._waits: dict[tuple[int, int, str], _Wait] = {}
        self._unsure: set[tuple[int, int, str]] = set()
        """Seen once without one of the two connections: it closed meanwhile, or is not instrumented."""
        self._took_s: deque[float] = deque(maxlen=_LAST)
        self._looked_s = self._waited_s = 0.0
        """When the look before began, and when anybody was last seen waiting. Unix time."""

    def opened(self, connection: Connection) -> str:
        """See Look."""
        self._has = has = capabilities(connection)
        require_process(connection, has)
        on = has.has_performance_schema
        if row_locks.has_data_locks(has) and not on:
            raise Lacking(f"lock waits: performance_schema is off: {_RESTART}")
        try:
            consumers = on and rows(connection, _CONSUMERS)[0][0]
            self._is_instrumented = bool(on and rows(connection, _INSTRUMENT)[0][0])
            if row_locks.has_data_locks(has):
                rows(connection, "SELECT 1 FROM performance_schema.data_locks LIMIT 0")
        except pymysql.MySQLError as error:
            if not is_denied(error):
                raise
            grant = f"GRANT SELECT ON performance_schema.* TO {has.account}"
            if row_locks.has_data_locks(has):
                raise Lacking(f"lock waits: the account may not read performance_schema: {grant}") from None
            on, consumers, self._is_instrumented = False, 0, False
        self._has_plugin = not self._is_instrumented and bool(rows(connection, metadata.PLUGIN))
        self._sessions = OfStatements(has) if consumers else OfProcesses(has)
        return "; ".join(self._lacks(int(consumers), is_on=on))

    def _lacks(self, consumers: int, *, is_on: bool) -> Sequence[str]:
        lacks = []
        if consumers < 3:
            what = "lock waits: the statement of a holder that is idle is not known"
            lacks.append(f"{what}: {_SWITCH_ON if is_on else _RESTART}")
        if not self._is_instrumented and not self._has_plugin:
            how = "INSTALL SONAME 'metadata_lock_info'" if self._has.is_mariadb else _INSTRUMENT_ON
            lacks.append(f"lock waits: who holds a metadata lock is not known: {how}")
        return lacks

    def look(self, connection: Connection) -> None:
        """See Look."""
        began_s = time.time()
        found: list[Pair] = []
        ((for_rows, for_metadata),) = rows(connection, _INSTRUMENTED if self._is_instrumented else _PROCESSES)
        if int(for_rows):
            found += row_locks.pairs(connection, self._has)
        if for_metadata:
            found += (
                metadata.pairs(connection)
                if self._is_instrumented
                else metadata.likely_pairs(connection, has_plugin=self._has_plugin)
            )
        if found or self._waits:
            self._follow(connection, found[:_MOST])
        self._waited_s = began_s if found else self._waited_s
        self._took_s.append(time.time() - began_s)
        least_s = _OFTEN_S if began_s - self._waited_s < _CALM_S else _RARELY_S
        self.every_s = max(least_s, min(self._took_s) * _COST)
        self._looked_s = began_s

    def _follow(self, connection: Connection, found: Sequence[Pair]) -> None:
        ids = {each for pair in found for each in (pair.waiter, pair.holder)} | {each[0] for each in self._waits}
        asked_s = time.time()
        sessions = self._sessions.read(connection, ids)
        now_s = time.time()
        pairs = {(each.waiter, each.holder, each.lock.sort): each for each in found}
        for key, known in [*self._waits.items()]:
            # of the times between question and answer the first one: a late answer makes no new statement
            began_s = _began_s(sessions.get(key[0]), asked_s)
            if key not in pairs or began_s > known.seen_s:
                self._ended(self._waits.pop(key), sessions, now_s)
        before, self._unsure = self._unsure, set()
        for key, pair in pairs.items():
            wait = self._waits.get(key)
            waiter = sessions.get(pair.waiter, wait.waiter if wait else Session())
            holder = sessions.get(pair.holder, wait.holder if wait else Session())
            if wait is None:
                if not {pair.waiter, pair.holder} - {0} <= sessions.keys() and key not in before:
                    self._unsure.add(key)
                    continue
                # at the look before it did not wait yet
                started_s = max(_began_s(waiter, asked_s), self._looked_s) or now_s
                wait = self._waits[key] = _Wait(pair, waiter, holder, started_s, now_s)
            wait.pair, wait.waiter, wait.holder, wait.seen_s = pair, waiter, holder, now_s
            if now_s - wait.written_s >= _AGAIN_S:
                wait.written_s = now_s
                self._write(wait, now_s, is_over=False)

    def _ended(self, wait: _Wait, sessions: Mapping[int, Session], now_s: float) -> None:
        waiter = sessions.get(wait.pair.waiter, Session())
        since_s = (waiter.idle_ns if waiter.running_ns is None else waiter.running_ns) / 1e9
        # where nothing happened on the connection since, or it is gone, it ended between two looks
        ended_s = now_s - since_s if since_s and now_s - since_s > wait.seen_s else (wait.seen_s + now_s) / 2
        self._write(wait, ended_s, is_over=True)

    def _write(self, wait: _Wait, until_s: float, *, is_over: bool) -> None:
        pair, holder = wait.pair, wait.holder
        more_ns = max(round((until_s - wait.seen_s) * 1e9), 0)
        row = wait_row(
            self.name,
            wait.started_s,
            time.time(),
            pair.lock,
            party("", pair.waiter, wait.waiter.last()),
            party("holder_", pair.holder, holder.took(pair.lock)),
            waited_ns=max(round((until_s - wait.started_s) * 1e9), 0),
            is_over=is_over,
            holder_running="" if holder.running_ns is None or holder.paused_ns else holder.last().redacted,
            holder_idle_ns=holder.paused_ns or (holder.idle_ns + more_ns if holder.idle_ns else 0),
            holder_transaction_ns=holder.transaction_ns + more_ns if holder.transaction_ns else 0,
        )
        self.writer.add(TABLE, [row])


def _began_s(session: Session | None, now_s: float) -> float:
    """When the statement of a session began; 0: it runs none."""
    return now_s - session.running_ns / 1e9 if session and session.running_ns is not None else 0.0


def is_denied(error: pymysql.MySQLError) -> bool:
    """Whether the account lacks a right."""
    return bool(error.args) and error.args[0] in (1044, 1045, 1142, 1143, 1227)


def require_process(connection: Connection, has: Capabilities) -> None:
    """
    Make sure that InnoDB's tables can be read.

    Raises:
        Lacking: With what to do.
    """
    try:
        rows(connection, _ROWS)
    except pymysql.MySQLError as error:
        if not is_denied(error):
            raise
        lacks = f"lock waits and deadlocks: the account lacks PROCESS: GRANT PROCESS ON *.* TO {has.account}"
        raise Lacking(lacks) from None
