"""Stores what the looks found: rows wait in memory, and go into the engine every few seconds."""

from __future__ import annotations

import json
import threading
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from ..background import BackgroundThread
from ..clickhouse.engine import Engine
from ..errors import InsertRefused
from ..health.counters import Health

_EVERY_S = 3.0
"""An INSERT takes as long for one row as for a thousand."""
_MOST_ROWS = 50_000
"""Of a table, while the engine is away; the oldest are lost beyond it, and counted."""

Row = Mapping[str, Any]
"""By column; a time is a number of seconds, or a text of them with its decimals."""


class Writer(BackgroundThread):
    """The thread that stores rows of the servers; the engine may be away for minutes."""

    def __init__(self, engine: Engine, health: Health) -> None:
        super().__init__("observed", "store what servers said", _EVERY_S)
        self._engine, self._health = engine, health
        self._lock = threading.Lock()
        self._waiting: dict[str, list[bytes]] = defaultdict(list)
        self._run, self._number = uuid.uuid4().hex, 0
        self._batch: tuple[str, list[bytes], str] | None = None
        """Table, rows and token of an INSERT that has perhaps succeeded: it is repeated as it is."""

    def add(self, table: str, rows: Iterable[Row]) -> None:
        """Store these soon."""
        encoded = [json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for row in rows]
        with self._lock:
            waiting = self._waiting[table]
            waiting += encoded
            if lost := max(len(waiting) - _MOST_ROWS, 0):
                del waiting[:lost]
        if lost:
            self._health.add("observed_lost", lost)

    def step(self) -> None:
        """Store all that waits."""
        while self._batch or self._take():
            table, rows, token = self._batch or ("", [], "")
            try:
                self._engine.insert_rows(table, b"".join(rows), token)
                self._health.add("observed_rows", len(rows))
            except InsertRefused:
                self._health.add("observed_lost", len(rows))
                self._batch = None
                raise
            self._batch = None

    def _take(self) -> bool:
        with self._lock:
            table = next((name for name, rows in self._waiting.items() if rows), None)
            if table is None:
                return False
            self._number += 1
            self._batch = (table, self._waiting.pop(table), f"{table}/{self._run}/{self._number}")
            return True

    def stop(self, within_s: float) -> None:
        """See BackgroundThread; what waits is stored now, once."""
        super().stop(within_s)
        if not self.is_alive():
            try:
                self.step()
            except Exception as error:  # noqa: BLE001 the last try: what cannot be stored now is lost, and said
                self.failed(error)
