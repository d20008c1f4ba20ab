"""Deadlocks, of SHOW ENGINE INNODB STATUS: each once, also after a restart of the collector."""

from __future__ import annotations

import time
from typing import Final

from ....format import plural
from ...events import TABLE as EVENTS
from ...events import event_row
from ...look import Look
from ..capabilities import capabilities, rows
from ..connection import Connection
from .look import require_process
from .report import Deadlock, Party, deadlock
from .wait import TABLE, party, wait_row

_COUNT: Final = "SELECT MAX(count) FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'"


class Deadlocks(Look[Connection]):
    """
    The last deadlock of a server, whenever the server has counted another one.

    Its rows have the server's time and connections as their key: those of a deadlock that is stored replace them.
    """

    every_s = 1.0

    _counted: int | None = None

    def opened(self, connection: Connection) -> str:
        """See Look."""
        require_process(connection, capabilities(connection))
        self._counted = None
        return ""

    def look(self, connection: Connection) -> None:
        """See Look."""
        ((counted,),) = rows(connection, _COUNT)
        counted = int(counted or 0)
        before, self._counted = self._counted, counted
        if counted == before:
            return
        ((_, _, status),) = rows(connection, "SHOW ENGINE INNODB STATUS")
        found = deadlock(status, time.time())
        if found is None:
            return
        self._write(found, missed=max(counted - before - 1, 0) if before is not None else 0)

    def _write(self, found: Deadlock, missed: int) -> None:
        by_number = {each.number: each for each in found.parties}
        now_s = time.time()
        for mine in found.parties:
            holder = by_number.get(mine.holder)
            row = wait_row(
                self.name,
                found.at_s,
                now_s,
                mine.waits_for,
                party("", mine.connection_id, mine.statement),
                party("holder_", holder.connection_id, holder.statement) if holder else {},
                is_over=True,
                is_rolled_back=mine.number == found.rolled_back,
            )
            self.writer.add(TABLE, [row])
        more = f"; {plural(missed, 'other')} just before it left no report" if missed else ""
        what = f"deadlock of {_listed(found)}{more}"
        details = {"statements": "\n".join(each.statement.redacted for each in found.parties)}
        details |= {"traces": " ".join(filter(None, (each.statement.sender.trace_id for each in found.parties)))}
        event = event_row(
            self.name, "mysql", "deadlock", what, at_s=found.at_s, number=len(found.parties), details=details
        )
        self.writer.add(EVENTS, [event])


def _listed(found: Deadlock) -> str:
    return " and ".join(
        f"{_name(each)}{' (rolled back)' if each.number == found.rolled_back else ''}" for each in found.parties
    )


def _name(mine: Party) -> str:
    sender = mine.statement.sender
    words = mine.statement.redacted.split()
    return sender.route or sender.service or " ".join(words[:3]) or f"connection {mine.connection_id}"
