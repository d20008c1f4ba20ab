"""Statements that were read, on disk until the engine has them: a journal for each look, oldest first."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from ....background import BackgroundThread
from ....clickhouse.engine import Engine
from ....health.counters import Health
from ....spool.directory import make_private
from ...slowlog.journal import BatchJournal
from ...slowlog.storing import store
from .seen import Seen

_STORE_EVERY_S = 1.0
_PATTERN = "*.journal"


class _Journal(BatchJournal[Seen]):
    def read_checkpoint(self, written: Any) -> Seen:
        return Seen(**written)


class Batches:
    """
    Those of one server, in a folder of its own. The newest journal stays, for what was seen.

    Raises:
        SettingsRefused: The newest journal is damaged.
    """

    def __init__(self, root: Path, server: str) -> None:
        self._folder = root / hashlib.sha256(server.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        make_private(self._folder)
        newest = max(self._folder.glob(_PATTERN), default=None)
        self._number = int(newest.stem) if newest else 0
        self.seen = (_Journal(newest).checkpoint if newest else None) or Seen()
        """After the newest batch."""

    def write(self, seen: Seen, rows: bytes, count: int) -> None:
        """Make rows durable, and what was seen with them; raises OSError."""
        path = self._folder / f"{self._number + 1:012}.journal"
        _Journal(path).write(seen, rows, count)
        self._number += 1
        self.seen = seen

    def waiting_bytes(self) -> int:
        """What is not stored yet."""
        sizes = 0
        for path in self._folder.glob(_PATTERN):
            with suppress(FileNotFoundError):  # it was stored meanwhile
                sizes += path.stat().st_size
        return sizes


class StatementStore(BackgroundThread):
    """The thread that stores the batches of all servers, also of those that are observed no longer."""

    def __init__(self, root: Path, engine: Engine, health: Health) -> None:
        super().__init__("statements", "store statements of observed servers", _STORE_EVERY_S)
        self._root, self._engine, self._health = root, engine, health

    def step(self) -> None:
        """Store all that waits."""
        for folder in sorted(self._root.iterdir()) if self._root.exists() else ():
            paths = sorted(folder.glob(_PATTERN))
            for path in paths:
                if self.stopping.is_set():
                    return
                counters = ("observed_rows", "observed_lost")
                store(_Journal(path), self._engine, self._health, self._root / "dead", "statements", counters)
                if path != paths[-1]:
                    path.unlink()
