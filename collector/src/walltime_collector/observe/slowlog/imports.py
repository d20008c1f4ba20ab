"""
The ledger of imported logs: how far each of them is stored. A log is known by its content, whatever its name.

The sender reads a log from its beginning, finds it here by a hash of all up to the header of the first entry, and
checks by a hash that it has what was imported; a shorter one is taken for a part of it. Then it sends what follows,
batch by batch. Each batch goes through a journal of its log, so a crash of either side repeats a batch or nothing, and
a batch that is here is not stored again.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...clickhouse.engine import Engine
from ...crashpoint import reach
from ...errors import SettingsRefused
from ...health.counters import Health
from ...spool.directory import make_private
from .journal import BatchJournal
from .storing import store

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Position:
    """A position in a log."""

    offset: int = 0
    """Bytes of its text, decompressed."""
    sha256: str = ""
    """Of all before it; empty at 0."""


class _Journal(BatchJournal[Position]):
    def read_checkpoint(self, written: Any) -> Position:
        return Position(**written)


class Imports:
    """
    All methods may be called from any thread.

    Args:
        directory: Of the slow-log reader.
    """

    def __init__(self, directory: Path, engine: Engine, health: Health) -> None:
        self._directory, self._dead = directory / "imports", directory / "dead"
        self._engine, self._health = engine, health
        self._lock = threading.Lock()
        self._is_settled = False

    def known(self, beginning: str) -> list[Position]:
        """
        How far the logs with this beginning are stored, in the order of their first import.

        Args:
            beginning: SHA-256 in hexadecimal digits: it is a file's name.

        Raises:
            EngineUnavailable: A batch is perhaps not stored.
        """
        with self._lock:
            found: list[Position] = []
            while (path := self._path(beginning, len(found))).exists():
                found.append(self._settled(path)[1])
            return found

    def add(self, beginning: str, number: int, start: Position, end: Position, rows: bytes) -> bool:
        """
        Store what is between two positions of a log; False if the log is not stored up to `start`, or further.

        Args:
            number: Of `known`; the next one for a log that is not in it.
            rows: Of slowlog/rows.py.

        Raises:
            EngineUnavailable: The batch is in the journal, and stored later. Sending it again is harmless.
            OSError: The journal cannot be written.
        """
        with self._lock:
            path = self._path(beginning, number)
            make_private(self._directory)
            journal, at = self._settled(path)
            if at == end:  # the response was lost
                return True
            if at != start:
                return False
            journal.write(end, rows, rows.count(b"\n"))
            reach("slow_log_journal_written")
            store(journal, self._engine, self._health, self._dead, str(path))
            return True

    def settle(self) -> None:
        """
        Store what a crash has left in the journals, once.

        Raises:
            EngineUnavailable: Not now; call again.
        """
        if self._is_settled:
            return
        for path in sorted(self._directory.glob("*.journal")):
            try:
                with self._lock:
                    self._settled(path)
            except SettingsRefused as error:  # it is damaged, and the others are not
                log.error("%s", error)  # noqa: TRY400  the message says all
        self._is_settled = True

    def _settled(self, path: Path) -> tuple[_Journal, Position]:
        journal = _Journal(path)
        store(journal, self._engine, self._health, self._dead, str(path))
        return journal, journal.checkpoint or Position()

    def _path(self, beginning: str, number: int) -> Path:
        return self._directory / f"{beginning}-{number}.journal"
