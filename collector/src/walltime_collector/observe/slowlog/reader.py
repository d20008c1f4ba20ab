"""Follows all logs in a thread of its own: log → entries → rows → journal → engine."""

from __future__ import annotations

import hashlib
import logging
import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...background import BackgroundThread
from ...clickhouse.engine import Engine
from ...crashpoint import reach
from ...errors import CollectorError
from ...health.counters import Health
from ...spool.directory import make_private
from .follow import Follower, Look
from .header import ALWAYS_LOGGED_NS
from .journal import Checkpoint, Journal
from .rows import rows
from .storing import store

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.5
_LAST_RETRY_S = 5.0
_JOURNAL_EVERY_BYTES = 4 * 1024 * 1024
"""Without entries to store, at most so much is read again after a crash."""


_ENOUGH_BYTES = 256 * 1024
"""Of rows for one INSERT; a piece of a log with large statements has few."""
_in_use: set[Path] = set()
"""The journals of this process."""


class FollowedLog:
    """
    One log, which need not exist yet, and its journal in `directory`; `server` is the column of its rows.

    Args:
        always_logged_ns: See header.read_header.
    """

    def __init__(
        self,
        path: Path,
        server: str,
        directory: Path,
        health: Health,
        always_logged_ns: int = ALWAYS_LOGGED_NS,
    ) -> None:
        self.path = path.absolute()  # not resolved: after a rotation a link may have another target
        self._server, self._health = server, health
        self._dead = directory / "dead"
        self._journal = Journal(_journal_path(directory, self.path, server))
        _in_use.add(self._journal.path)
        self._follower = Follower(self.path, self._journal.checkpoint, always_logged_ns=always_logged_ns)

    def step(self, engine: Engine) -> bool:
        """
        Store what was read, then read on; True when there may be more at once.

        Raises:
            OSError: The log or the journal cannot be read or written.
            EngineUnavailable: What was read is in the journal, and stored by a later step.
        """
        store(self._journal, engine, self._health, self._dead, str(self.path))
        look = self._follower.look()
        encoded, count = self._encoded(look)
        while look.entries and look.is_progress and len(encoded) < _ENOUGH_BYTES:
            try:
                look = self._follower.look()
            except OSError:  # raised again by the next step; what was read before is stored now
                look = replace(look, entries=[])
                break
            more, more_count = self._encoded(look)
            encoded, count = encoded + more, count + more_count
        self._count_losses()
        if count:
            self._journal.write(look.checkpoint, encoded, count)
            reach("slow_log_journal_written")
            store(self._journal, engine, self._health, self._dead, str(self.path))
        elif _is_far(self._journal.checkpoint, look.checkpoint):
            self._journal.write(look.checkpoint, b"", 0)
        return look.is_progress

    def _encoded(self, look: Look) -> tuple[bytes, int]:
        return rows(look.entries, self._server, int(time.time())), len(look.entries)

    def close(self) -> None:
        """Let go of the file."""
        self._follower.close()
        _in_use.discard(self._journal.path)

    def _count_losses(self) -> None:
        losses, gaps = self._follower.losses, self._follower.gaps
        for name, number in (
            ("slow_log_malformed", losses.malformed),
            ("slow_log_skipped_bytes", losses.skipped_bytes),
            ("slow_log_gaps", gaps),
        ):
            if number:
                self._health.add(name, number)
        losses.malformed = losses.skipped_bytes = self._follower.gaps = 0


class SlowLogReader(BackgroundThread):
    """
    The thread that follows the logs of the setting; one that cannot be read is tried again, beside the others.

    Args:
        always_write_s: `slow_query_log_always_write_time` of the servers.
    """

    def __init__(
        self, logs: Sequence[str], directory: Path, engine: Engine, health: Health, always_write_s: float
    ) -> None:
        super().__init__("slow logs", "read slow logs", _LOOK_EVERY_S)
        self._engine, self._health = engine, health
        if logs:
            make_private(directory)
        always_logged_ns = round(always_write_s * 1_000_000_000)
        self._logs = [
            FollowedLog(path, server, directory, health, always_logged_ns)
            for server, path in dict.fromkeys(map(named, logs))
        ]
        paths = [each.path for each in self._logs]
        for twice in sorted({path for path in paths if paths.count(path) > 1}):
            log.warning("%s: it has two names in slow_log, so its entries are stored twice; name it once", twice)
        for each in self._logs:
            health.slow_log(str(each.path))
        self._retry_at_s: dict[FollowedLog, tuple[float, float]] = {}

    def start(self) -> None:
        """Begin where the last run stopped."""
        if self._logs:
            super().start()

    def stop(self, within_s: float) -> None:
        """See BackgroundThread; what the step leaves unread or unstored waits for the next start."""
        if self._logs:
            super().stop(within_s)
            for each in self._logs:
                each.close()

    def step(self) -> bool:
        """Read on in each log; returns True if there may be more to read at once."""
        is_more = [self._read(each) for each in self._logs if not self.stopping.is_set()]
        return any(is_more)

    def _read(self, followed: FollowedLog) -> bool:
        at_s, retry_s = self._retry_at_s.get(followed, (0.0, _LOOK_EVERY_S))
        if time.monotonic() < at_s:
            return False
        try:
            is_more = followed.step(self._engine)
        except Exception as error:  # whatever it is, the log is on disk and this thread must go on
            what = _explained(error)
            if not self._health.slow_log(str(followed.path), what):
                pass  # logged before
            elif isinstance(error, CollectorError | OSError):
                log.warning("%s: %s; trying again", followed.path, what)
            else:
                log.exception("%s: following it failed unexpectedly; trying again", followed.path)
            self._retry_at_s[followed] = (time.monotonic() + retry_s, min(retry_s * 2, _LAST_RETRY_S))
            return False
        self._retry_at_s.pop(followed, None)
        if self._health.slow_log(str(followed.path)):
            log.info("%s: can be read and stored again", followed.path)
        return is_more


def named(setting: str) -> tuple[str, Path]:
    """`NAME=PATH` or `PATH`, whose name is this machine's, as (name, path)."""
    name, equals, path = setting.partition("=")
    if equals and "/" not in name:
        return name, Path(path).expanduser()
    return socket.gethostname(), Path(setting).expanduser()


def _journal_path(directory: Path, log_path: Path, server: str) -> Path:
    """
    Of a log, whatever its server is named: that may be this machine's name, which changes in a container.

    A log under two names has two journals, because their entries are different rows.
    """
    named = hashlib.sha256(str(log_path).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    path = directory / f"{named}.journal"
    second = directory / f"{named}-{hashlib.sha256(server.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}.journal"
    return second if second.exists() or path in _in_use else path


def _is_far(journaled: Checkpoint | None, read: Checkpoint) -> bool:
    if journaled is None or (journaled.device, journaled.inode) != (read.device, read.inode):
        return read.offset > 0
    return not 0 <= read.offset - journaled.offset < _JOURNAL_EVERY_BYTES


def _explained(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "it does not exist yet"
    if isinstance(error, PermissionError):
        return "the collector may not read it; give its user the right to"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
