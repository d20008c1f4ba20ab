"""
Follows one log through rotation, truncation and restarts of either side: what was read, and where to read on.

A file is known by its first bytes, not by its name, and by its inode only beside them: a log that was renamed, or
copied and truncated, or whose inode went to another file, is found again by what it says.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .header import Entry
from .journal import Checkpoint
from .parser import Losses, Parser

log = logging.getLogger(__name__)

PIECE_BYTES = 512 * 1024
HEAD_BYTES = 1024
_ENOUGH_HEAD_BYTES = 256
"""Fewer first bytes may be the same in every log of a server: they do not tell one file from another."""
_NOT_LOGS = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".tmp", ".new")


@dataclass(frozen=True)
class Look:
    """What one look at the log gave; `checkpoint` is behind `entries`."""

    entries: list[Entry]
    checkpoint: Checkpoint
    is_progress: bool
    """There may be more: look again at once."""


class Follower:
    """
    Reads on from a checkpoint; without one from the beginning of the log.

    Args:
        path: The log, as the server names it. Rotated ones are looked for beside it, under names that begin with its.
    """

    def __init__(self, path: Path, checkpoint: Checkpoint | None) -> None:
        self._path = path
        self._from = checkpoint
        self._file = -1
        self._parser = Parser()
        self._read_bytes = 0
        self._head = b""
        self._was_quiet = False
        self.losses = Losses()
        """Of all that was read."""
        self.gaps = 0
        """How often what followed a checkpoint could not be found: entries may be missing there."""

    def look(self) -> Look:
        """
        Read at most PIECE_BYTES further and return the entries that are known to have ended.

        Raises:
            OSError: The log is not there or cannot be read; nothing is lost by it, the next look may go better.
        """
        if self._file < 0:
            self._find_again()
        if self._is_other_content():
            return self._content_is_gone()
        piece = os.pread(self._file, PIECE_BYTES, self._read_bytes)
        if piece:
            self._was_quiet = False
            self._head = (self._head + piece)[:HEAD_BYTES] if self._read_bytes < HEAD_BYTES else self._head
            self._read_bytes += len(piece)
            return self._result(self._parser.feed(piece), is_progress=True)
        if self._is_replaced():
            return self._go_to(self._following())
        entries = self._parser.quiet() if self._was_quiet else []
        self._was_quiet = True
        return self._result(entries, is_progress=False)

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _result(self, entries: list[Entry], *, is_progress: bool) -> Look:
        self.losses.malformed += self._parser.losses.malformed
        self.losses.skipped_bytes += self._parser.losses.skipped_bytes
        self._parser.losses = Losses()
        return Look(entries, self._checkpoint(), is_progress)

    def _checkpoint(self) -> Checkpoint:
        status = os.fstat(self._file)
        return Checkpoint(
            device=status.st_dev,
            inode=status.st_ino,
            head_bytes=len(self._head),
            head=hashlib.sha256(self._head).hexdigest(),
            offset=self._parser.position,
            carried=self._parser.carried,
        )

    def _begin(self, handle: int, at: Checkpoint | None) -> None:
        self.close()
        self._file, self._was_quiet = handle, False
        self._parser = Parser(at.carried, at.offset) if at else Parser()
        self._read_bytes = self._parser.position
        self._head = os.pread(handle, min(HEAD_BYTES, self._read_bytes), 0)

    def _find_again(self) -> None:
        """Open the file the checkpoint is in, wherever it is by now; else the log from its beginning."""
        at = self._from
        found = self._find(at) if at else None
        if at and found:
            self._begin(_open(found), at)
            return
        self._begin(_open(self._path), None)  # as long as nothing is there, it may yet come back: no gap
        if at and at.offset:
            self.gaps += 1
            log.warning("%s: what followed its byte %d is gone; reading the log that is there", self._path, at.offset)

    def _is_other_content(self) -> bool:
        """Whether the open file was truncated, and perhaps written again, since it was read."""
        size = len(self._head)
        return os.fstat(self._file).st_size < self._read_bytes or os.pread(self._file, size, 0) != self._head

    def _content_is_gone(self) -> Look:
        """Go on in the copy that was made before the truncation, if there is one; else with what is there now."""
        at = self._checkpoint()
        copy = self._find(at) if self._head else None
        if copy and not _is_same(copy, self._path):
            self._begin(_open(copy), at)
            return self._result([], is_progress=True)
        return self._go_to(self._path)

    def _is_replaced(self) -> bool:
        """
        Whether the server writes another file by now, and this one is read to its end.

        A renamed file is written until the server reopens its log. The new one may have been made before that, so only
        that something is in it says that the server has moved on, and that this one grows no more.
        """
        try:
            now = self._path.stat()
        except FileNotFoundError:
            return False
        here = os.fstat(self._file)
        is_new = (now.st_dev, now.st_ino) != (here.st_dev, here.st_ino) and now.st_size > 0
        return is_new and os.fstat(self._file).st_size == self._read_bytes

    def _following(self) -> Path:
        """The oldest of the rotated logs that were written after this one, which nobody has read; else the log."""
        here = os.fstat(self._file)
        later = [
            (status.st_mtime_ns, path)
            for path in self._rotated()
            if (status := path.stat()).st_mtime_ns > here.st_mtime_ns
            and (status.st_dev, status.st_ino) != (here.st_dev, here.st_ino)
        ]
        return min(later)[1] if later else self._path

    def _go_to(self, path: Path) -> Look:
        handle = _open(path)  # before anything is taken from the parser: this may fail
        entries = self._parser.finish()
        self._result([], is_progress=True)
        self._begin(handle, None)
        return self._result(entries, is_progress=True)

    def _find(self, at: Checkpoint) -> Path | None:
        """The file that goes on behind the checkpoint: the same inode if it can be, else the same content."""
        candidates = [path for path in (self._path, *self._rotated()) if _holds(path, at)]
        for path in candidates:
            status = path.stat()
            if (status.st_dev, status.st_ino) == (at.device, at.inode):
                return path
        if at.head_bytes < _ENOUGH_HEAD_BYTES:
            candidates = [path for path in candidates if path != self._path and at.offset]
        return candidates[0] if candidates else None

    def _rotated(self) -> Iterator[Path]:
        name = self._path.name
        for path in sorted(self._path.parent.iterdir()):
            is_one = path.name.startswith((f"{name}.", f"{name}-", f"{name}_")) and not path.name.endswith(_NOT_LOGS)
            if is_one and path.is_file() and not _is_same(path, self._path):
                yield path


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO would wait for its writer


def _holds(path: Path, at: Checkpoint) -> bool:
    """Whether the file begins as the checkpoint's did and reaches that far."""
    try:
        handle = _open(path)
    except OSError:
        return False
    try:
        head = hashlib.sha256(os.pread(handle, at.head_bytes, 0)).hexdigest()
        return os.fstat(handle).st_size >= at.offset and head == at.head
    except OSError:
        return False
    finally:
        os.close(handle)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
