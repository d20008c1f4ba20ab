"""Stores the counters of this collector in `walltime_health` every minute, to compare several collectors."""

from __future__ import annotations

import json
import logging
import socket
import time
import uuid
from collections import deque
from collections.abc import Callable
from pathlib import Path

from ..clickhouse.engine import Engine
from ..errors import CollectorError, InsertRefused
from ..spool.directory import room
from ..spool.disk import Disk, write_whole
from .counters import ENDS, Health

log = logging.getLogger(__name__)

TABLE = "walltime_health"
_MAX_ROWS = 24 * 60
"""Rows kept while the engine is unavailable; then the oldest is dropped."""


class HealthMinutes:
    """
    Rows with the changes since the last row, so that rows of all collectors and minutes can be summed.

    Args:
        data: The collector's directory; an id in it identifies the collector after a restart. How full its disk is, is
            in the rows too.
    """

    def __init__(self, engine: Engine, health: Health, data: Path, now_s: Callable[[], float] = time.time) -> None:
        self._engine, self._health, self._data, self._now_s = engine, health, data, now_s
        self._named = {"collector": collector_id(data), "host": socket.gethostname()}
        self._run = uuid.uuid4().hex
        self._written = 0
        self._before: dict[str, int] = {}
        self._waiting: deque[tuple[str, str]] = deque(maxlen=_MAX_ROWS)

    def write(self) -> None:
        """Store a row and those that wait; rows that the engine does not accept now wait for the next time."""
        self._waiting.append((f"walltime_health/{self._run}/{self._written}", self._row()))
        self._written += 1
        while self._waiting:
            token, row = self._waiting[0]
            try:
                self._engine.insert_rows(TABLE, row.encode(), token)
            except InsertRefused as error:
                log.warning("a row of %s is refused and lost: %s", TABLE, error)
            except CollectorError:
                return  # the loader logs it
            self._waiting.popleft()

    def _row(self) -> str:
        report = self._health.report()
        now = {"received": report["spans"]["received"], **{name: report["spans"][name] for name in ENDS}}
        others = dict(report["counts"])
        refused = sum(count for name, count in others.items() if name.startswith("refused_"))
        changes = {name: count - self._before.get(name, 0) for name, count in {**now, **others}.items()}
        refused -= self._before.get(" refused", 0)
        self._before = {**now, **others, " refused": self._before.get(" refused", 0) + refused}
        gauges = report["gauges"]
        row = {
            **self._named,
            "minute": int(self._now_s() // 60 * 60),
            **{name: changes.pop(name) for name in now},
            "refused": refused,
            "spooled": report["spans"]["spooled"],
            "spool_bytes": int(gauges.get("spool_bytes", 0)),
            "spool_oldest_s": gauges.get("spool_oldest_s", 0.0),
            "is_ok": report["ok"],
            "troubles": [trouble["reason"] for trouble in report["troubles"]],
            "others": {name: count for name, count in changes.items() if count} | self._disk(),
        }
        return json.dumps(row) + "\n"

    def _disk(self) -> dict[str, int]:
        try:
            free_bytes, disk_bytes = room(self._data)
        except OSError:
            return {}  # the spool says that its disk fails
        return {"disk_free_bytes": free_bytes, "disk_bytes": disk_bytes}


def collector_id(data: Path) -> str:
    """The id of the collector that owns this directory; created with it."""
    path = data / "collector-id"
    try:
        return uuid.UUID(path.read_text("ascii").strip()).hex
    except (FileNotFoundError, ValueError):
        made = uuid.uuid4().hex
        write_whole(Disk(), path, [made.encode()])
        return made
