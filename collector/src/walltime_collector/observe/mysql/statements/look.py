"""Reads the statements of a server, as often as its ring is filled with new ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from ....crashpoint import reach
from ....health.counters import Health
from ...events import TABLE, event_row
from ...look import Lacking, Look
from ...slowlog.rows import rows as encoded
from ...writer import Writer
from ..capabilities import capabilities, consumers, instruments, require_performance_schema, still_off
from ..capabilities import rows as asked
from ..connection import Connection
from .batches import Batches
from .reading import SUMMARY, Reading, Table, reading
from .seen import Seen

_FILL: Final = 0.6
"""Of the ring, between two looks."""
_FEWEST_S: Final = 0.25
_MOST_S: Final = 5.0
_HISTORY_S: Final = 0.5
"""Between two looks at the last statements of each connection, which are few."""
_QUIET_S: Final = 30.0
"""Between two writes of what was seen, while there are no statements but those of the looks."""
_HELD_S: Final = 2.5
_HELD_PART: Final = 0.25
"""So long, and so much of a ring, waits in memory: an INSERT of one row costs as much as one of a thousand."""
_MOST_WAITING_BYTES: Final = 256 * 1024 * 1024
"""While the engine is away. Beyond it nothing is read, and what is overwritten meanwhile is counted."""
_STRETCH_S: Final = 60.0
"""Losses within this time are one event."""
_BASIC: Final = ("global_instrumentation", "thread_instrumentation", "events_statements_current")
_LONG: Final = "events_statements_history_long"
_SHORT: Final = "events_statements_history"
_SWITCHES: Final = (
    consumers(*_BASIC, _LONG, "events_statements_cpu"),
    instruments("statement/sql/%"),
    instruments("statement/com/%"),
)
_ON: Final = "SELECT name FROM performance_schema.setup_consumers WHERE enabled = 'YES'"
_READ: Final = ("setup_consumers", "setup_instruments", "threads", "events_statements_current", _LONG, _SHORT, SUMMARY)


class Statements(Look[Connection]):
    """
    Each statement becomes a row of slow_queries, once; those that were overwritten before are counted.

    Args:
        root: Folder of what is read and not yet stored.
        may_set_up: Switch on in the server what is off.
    """

    every_s = _MOST_S
    share = 0.5  # most of it is spent here, with what the server answered

    def __init__(self, name: str, writer: Writer, health: Health, root: Path, *, may_set_up: bool) -> None:
        super().__init__(name, writer)
        self._health, self._may_set_up = health, may_set_up
        self._batches = Batches(root, name, health)
        self._seen = self._batches.seen
        self._reading: Reading | None = None
        self._held, self._held_count, self._written_s = b"", 0, 0.0
        self._counted, self._looked_at_s = 0, 0.0
        self._stretch_at_s, self._stretch_began_with = 0.0, 0

    def opened(self, connection: Connection) -> str:
        """See Look."""
        has = capabilities(connection)
        require_performance_schema(connection, has, _READ)
        off = "; ".join(still_off(connection, has, _SWITCHES, may_set_up=self._may_set_up))
        on = {
            name
            for (name,) in asked(
                connection, "SELECT name FROM performance_schema.setup_consumers WHERE enabled = 'YES'"
            )
        }
        if not on.issuperset(_BASIC) or on.isdisjoint((_LONG, _SHORT)):
            raise Lacking(f"performance_schema keeps no statements; to switch it on: {off}")
        table: Table = _LONG if _LONG in on else _SHORT
        self._reading = reading(connection, table)
        self.every_s = _MOST_S if table == _LONG else _HISTORY_S
        run = f"{has.server_id}/{has.started_s}"
        if run != self._seen.run:
            self._seen = Seen(run)
        self._looked_at_s = 0.0
        if not off:
            return ""
        few = "" if table == _LONG else "only the last statements of each connection can be read; "
        return f"{few}not all of performance_schema that is useful is on; to switch it on: {off}"

    def look(self, connection: Connection) -> None:
        """See Look."""
        if self._reading is None or len(self._held) + self._batches.waiting_bytes() > _MOST_WAITING_BYTES:
            return
        before = self._seen
        found = self._reading.look(before)
        self._seen = found.seen
        if count := len(found.entries):
            self._held += encoded(found.entries, self.name, int(time.time()), "performance_schema")
            self._held_count += count
        if lost := found.seen.lost - before.lost:
            self._count_lost(lost)
        if self._reading.table == _LONG:
            self._pace(found.counted)
        # what is not written is read again after a crash, if it is still in the ring then
        waits_s = time.monotonic() - self._written_s
        is_much = self._held_count > self._reading.ring * _HELD_PART
        if is_much or waits_s >= (_HELD_S if self._held_count else _QUIET_S):
            self.write()

    def _pace(self, counted: int) -> None:
        """Come again when _FILL of the ring is new, if it goes on like this."""
        now_s = time.monotonic()
        if self._reading and self._looked_at_s and counted > self._counted:
            filled_s = self._reading.ring * (now_s - self._looked_at_s) / (counted - self._counted)
            self.every_s = min(max(filled_s * _FILL, _FEWEST_S), _MOST_S)
        self._counted, self._looked_at_s = counted, now_s

    def write(self) -> None:
        """Make durable what was read and seen; raises OSError."""
        self._batches.write(self._seen, self._held, self._held_count)
        self._held, self._held_count, self._written_s = b"", 0, time.monotonic()
        reach("statements_written")

    def _count_lost(self, lost: int) -> None:
        self._health.add("statements_overwritten", lost)
        now_s = time.time()
        if now_s - self._stretch_at_s > _STRETCH_S:
            self._stretch_at_s, self._stretch_began_with = now_s, self._seen.lost - lost
        number = self._seen.lost - self._stretch_began_with
        what = f"{number} statements of {self.name} were overwritten before they were read"
        row = event_row(self.name, "mysql", "lost", what, at_s=self._stretch_at_s, until_s=now_s, number=number)
        self.writer.add(TABLE, [row])
