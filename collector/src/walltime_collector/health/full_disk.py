"""Makes room on a full disk where the settings say so: the oldest day goes before its time, and is counted."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..clickhouse.engine import Engine
from ..format import size
from ..query.questions import run
from ..spool.reserve import reserve_bytes
from .counters import Health

log = logging.getLogger(__name__)

_DROP = "ALTER TABLE {table:Identifier} DROP PARTITION {day:String}"


class OldestDays:
    """
    Looks whether the disk has only its reserve left, where the spool stops, and drops one day each time it does.

    Today stays. What only merges or other programs could free is not waited for: a full disk takes nothing.

    Args:
        room: Free bytes of the disk, and how many it has.
    """

    def __init__(self, engine: Engine, health: Health, room: Callable[[], tuple[int, int]]) -> None:
        self._engine, self._health, self._room = engine, health, room
        self._is_said = False

    def look(self) -> None:
        """
        Drop the oldest day when the disk is full.

        Raises:
            EngineError: Not now; on a disk without a single MiB the database cannot even delete.
        """
        free, disk_bytes = self._room()
        if free > reserve_bytes(disk_bytes):
            self._is_said = False
            return
        parts = run(self._engine, "oldest_day")
        if not parts and not self._is_said:
            log.error("the disk has %s left, and nothing of an earlier day is stored: make room on it", size(free))
            self._is_said = True
        for part in parts:
            self._engine.command(_DROP, {"table": part["table"], "day": part["day"]})
            self._health.add("full_disk_rows", int(part["rows"]))
            log.warning(
                "the disk has %s left: %s of %s, %d rows and %s, is dropped before its time",
                size(free),
                part["table"],
                part["day"],
                part["rows"],
                size(part["disk_bytes"]),
            )
        if parts:
            self._health.add("full_disk_days")
