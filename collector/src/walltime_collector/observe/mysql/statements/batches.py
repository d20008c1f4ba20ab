"""Statements that were read, on disk until the engine has them: a journal for each look, oldest first."""

from __future__ import annotations

import hashlib
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

from ....background import BackgroundThread
from ....clickhouse.engine import Engine
from ....errors import SettingsRefused
from ....health.counters import Health
from ....spool.directory import make_private
from ...slowlog.journal import BatchJournal
from ...slowlog.storing import store
from .seen import Seen

log = logging.getLogger(__name__)

_STORE_EVERY_S = 1.0
_PATTERN = "*.journal"


class _Journal(BatchJournal[Seen]):
    def read_checkpoint(self, written: Any) -> Seen:
        return Seen(**written)


def _journal(path: Path, health: Health) -> _Journal | None:
    """None if it is damaged: then it is set aside, and its statements are counted as lost; the others are stored."""
    try:
        return _Journal(path)
    except SettingsRefused as error:
        aside = path.replace(path.with_suffix(".damaged"))
        lost = sum(map(bool, aside.read_bytes().split(b"\n")[1:]))
        health.add("observed_lost", lost)
        said = "%s: damaged (%s); it is now %s, and %d statements are lost"
        log.error(said, path, error.__cause__, aside, lost)  # noqa: TRY400  the message says all
        return None


class Batches:
    """Those of one server, in a folder of its own. The newest journal stays, for what was seen."""

    def __init__(self, root: Path, server: str, health: Health) -> None:
        self._folder = root / hashlib.sha256(server.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        make_private(self._folder)
        paths = sorted(self._folder.glob(_PATTERN), reverse=True)
        self._number = int(paths[0].stem) if paths else 0
        newest = next(filter(None, (_journal(path, health) for path in paths)), None)
        self.seen = (newest and newest.checkpoint) or Seen()
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
            before: Path | None = None
            for path in sorted(folder.glob(_PATTERN)):
                if self.stopping.is_set():
                    return
                if journal := _journal(path, self._health):
                    counters = ("observed_rows", "observed_lost")
                    store(journal, self._engine, self._health, self._root / "dead", "statements", counters)
                    if before:
                        before.unlink()
                    before = path
