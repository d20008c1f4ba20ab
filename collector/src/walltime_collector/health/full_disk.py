"""Frees a full disk, where `when_disk_full` is drop_oldest_day: drops and counts the oldest day."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..clickhouse.engine import Engine
from ..format import size
from ..query.queries import run
from ..spool.reserve import reserve_bytes
from .counters import Health

log = logging.getLogger(__name__)

_DROP = "ALTER TABLE {table:Identifier} DROP PARTITION {day:String}"


class OldestDays:
    """
    Drops one day each time the disk has only its reserve left, which is where the spool stops.

    Today is never dropped. It does not wait for merges or other programs to free space: a full disk accepts no data.

    Args:
        room: Returns the free bytes of the disk, and its size.
    """

    def __init__(self, engine: Engine, health: Health, room: Callable[[], tuple[int, int]]) -> None:
        self._engine, self._health, self._room = engine, health, room
        self._is_logged = False

    def look(self) -> None:
        """
        Drop the oldest day if the disk is full.

        Raises:
            EngineError: It failed; on a disk without a single free MiB the database cannot even delete.
        """
        free, disk_bytes = self._room()
        if free > reserve_bytes(disk_bytes):
            self._is_logged = False
            return
        parts = run(self._engine, "status/oldest_day")
        if not parts and not self._is_logged:
            log.error("the disk has %s left, and no data of an earlier day is stored: free some space", size(free))
            self._is_logged = True
        for part in parts:
            self._engine.command(_DROP, {"table": part["table"], "day": part["day"]})
            self._health.add("full_disk_rows", int(part["lost_rows"]))
            log.warning(
                "the disk has %s left: %s of %s, %d rows and %s, is dropped before its retention ends",
                size(free),
                part["table"],
                part["day"],
                part["rows"],
                size(part["disk_bytes"]),
            )
        if parts:
            self._health.add("full_disk_days")
