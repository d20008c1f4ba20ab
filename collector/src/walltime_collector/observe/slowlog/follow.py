"""
Follows one log through rotation, truncation and restarts of either side.

A file is recognised by its first bytes, not by its name, and by its inode only beside them. So a log that was renamed,
copied and truncated, or compressed, or whose inode is another file's now, is found again.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .content import CompressedContent, Content, open_content
from .entry import Entry
from .header import ALWAYS_LOGGED_NS
from .journal import Checkpoint
from .parser import Losses, Parser

log = logging.getLogger(__name__)

PIECE_BYTES = 4 * 1024 * 1024
HEAD_BYTES = 1024
_ENOUGH_HEAD_BYTES = 256
"""Fewer first bytes may be the same in every log of a server."""
_NOT_LOGS = (".lz4", ".tmp", ".new")


@dataclass(frozen=True)
class Look:
    """The result of reading a piece of the log; `checkpoint` is behind `entries`."""

    entries: list[Entry]
    checkpoint: Checkpoint
    is_progress: bool
    """There may be more: read on at once."""


class Follower:
    """
    Reads on from a checkpoint, or from the beginning of the log. Rotated logs are looked for beside it.

    Args:
        always_logged_ns: See header.read_header.
    """

    def __init__(self, path: Path, checkpoint: Checkpoint | None, *, always_logged_ns: int = ALWAYS_LOGGED_NS) -> None:
        self._always_logged_ns = always_logged_ns
        self._path = path
        self._from = checkpoint
        self._file: Content | None = None
        self.losses = Losses()
        """Of all that was read."""
        self._parser = self._parser_from(None)
        self._read_bytes = 0
        self._head = b""
        self._was_quiet = False
        self._passed_over: set[tuple[Path, int, int]] = set()
        self.gaps = 0
        """How often the bytes behind a checkpoint could not be found: entries may be missing there."""

    def look(self) -> Look:
        """
        Read at most PIECE_BYTES further and return the entries that are known to have ended.

        Raises:
            OSError: The log is not there or cannot be read; nothing is lost, call again later.
        """
        file = self._file or self._find_again()
        if self._is_other_content(file):
            return self._content_is_gone(file)
        piece = file.read_at(self._read_bytes, PIECE_BYTES)
        if piece:
            self._was_quiet = False
            self._head = (self._head + piece)[:HEAD_BYTES] if self._read_bytes < HEAD_BYTES else self._head
            self._read_bytes += len(piece)
            return Look(self._parser.feed(piece), self._checkpoint(file), is_progress=True)
        following = self._following(file)
        if following:
            return self._go_to(following)
        entries = self._parser.quiet() if self._was_quiet else []
        self._was_quiet = True
        return Look(entries, self._checkpoint(file), is_progress=False)

    def close(self) -> None:
        """Let go of the file."""
        if self._file:
            self._file.close()
            self._file = None

    def _checkpoint(self, file: Content) -> Checkpoint:
        status = file.status()
        return Checkpoint(
            device=status.st_dev,
            inode=status.st_ino,
            head_bytes=len(self._head),
            head=hashlib.sha256(self._head).hexdigest(),
            offset=self._parser.position,
            carried=self._parser.carried,
        )

    def _begin(self, file: Content, at: Checkpoint | None) -> Content:
        self.close()
        self._file, self._was_quiet = file, False
        self._parser = self._parser_from(at)
        self._read_bytes = self._parser.position
        self._head = file.read_at(0, min(HEAD_BYTES, self._read_bytes))
        return file

    def _parser_from(self, at: Checkpoint | None) -> Parser:
        at = at or Checkpoint()
        return Parser(at.carried, at.offset, self.losses, always_logged_ns=self._always_logged_ns)

    def _find_again(self) -> Content:
        """Open the file the checkpoint is in, wherever it is by now; else the log from its beginning."""
        at = self._from
        path = self._find(at) if at else None
        if at and path:
            return self._begin(open_content(path), at)
        file = self._begin(open_content(self._path), None)  # raises while nothing is there: it may come back, no gap
        if at and at.offset:
            self._count_gap(at.offset)
        return file

    def _count_gap(self, at: int) -> None:
        self.gaps += 1
        log.warning("%s: the bytes behind %d are gone; reading the current log", self._path, at)

    def _is_other_content(self, file: Content) -> bool:
        """Whether the open file was truncated, and perhaps written again, since it was read."""
        return not isinstance(file, CompressedContent) and (
            file.is_shorter_than(self._read_bytes) or file.read_at(0, len(self._head)) != self._head
        )

    def _content_is_gone(self, file: Content) -> Look:
        """
        Go on in the copy that was made before the truncation, if there is one; else with what is there now.

        Without a copy it is unknown whether something had been written behind the checkpoint: it is counted as a gap.
        """
        at = self._checkpoint(file)
        copy = self._find(at) if self._head else None
        if copy and not _is_same(copy, self._path):
            return Look([], self._checkpoint(self._begin(open_content(copy), at)), is_progress=True)
        look = self._go_to(self._path)
        self._count_gap(at.offset)
        return look

    def _following(self, file: Content) -> Path | None:
        """
        The next file to read when this one is read to its end and final; None while the server may write to it.

        It is the oldest unread log that was rotated after this one, else the log. The server writes to a renamed file
        until it reopens its log, also when the new one is there already: so this file is final only when a newer one
        has content.
        """
        here = file.status()
        try:
            now = self._path.stat()
        except FileNotFoundError:
            return None
        if (now.st_dev, now.st_ino) == (here.st_dev, here.st_ino) or not file.has_ended_at(self._read_bytes):
            return None
        later = [
            (status.st_mtime_ns, path)
            for path in self._rotated()
            if (status := path.stat()).st_mtime_ns > here.st_mtime_ns
            and (status.st_dev, status.st_ino) != (here.st_dev, here.st_ino)
            and status.st_size
            and (path, status.st_mtime_ns, status.st_size) not in self._passed_over
        ]
        for _, path in sorted(later):
            if self._is_readable(path):
                return path
        return self._path if now.st_size else None

    def _is_readable(self, path: Path) -> bool:
        """Whether a rotated log is whole, and not another form of the one that is open; if not, it is passed over."""
        try:
            with contextlib.closing(open_content(path)) as other:
                is_copy = len(self._head) >= _ENOUGH_HEAD_BYTES and other.read_at(0, len(self._head)) == self._head
                if not is_copy and other.is_whole():
                    return True
                status = other.status()
                self._passed_over.add((path, status.st_mtime_ns, status.st_size))
        except OSError:
            pass  # tried again by the next call
        return False

    def _go_to(self, path: Path) -> Look:
        following = open_content(path)  # before anything is taken from the parser: this may fail
        entries = self._parser.finish()
        return Look(entries, self._checkpoint(self._begin(following, None)), is_progress=True)

    def _find(self, at: Checkpoint) -> Path | None:
        """The file of the checkpoint: with the same inode if there is one, else with the same content."""
        candidates = [path for path in (self._path, *self._rotated()) if _holds(path, at)]
        for path in candidates:
            status = path.stat()
            if (status.st_dev, status.st_ino) == (at.device, at.inode):
                return path
        if at.head_bytes < _ENOUGH_HEAD_BYTES:
            candidates = [path for path in candidates if path != self._path and at.offset]
        return candidates[0] if candidates else None

    def _rotated(self) -> Iterator[Path]:
        """Rotated logs: slow.log.1, slow.log-20261121.gz, and slow-20261121.log as logrotate's `extension` names it."""
        name, stem, suffix = (re.escape(each) for each in (self._path.name, self._path.stem, self._path.suffix))
        is_one = re.compile(rf"{name}[._-].*|{stem}[._-]\d[\d._-]*{suffix}(\.\w+)?")
        for path in sorted(self._path.parent.iterdir()):
            if (
                is_one.fullmatch(path.name)
                and not path.name.endswith(_NOT_LOGS)
                and path.is_file()
                and not _is_same(path, self._path)
            ):
                yield path


def _holds(path: Path, at: Checkpoint) -> bool:
    """Whether the file begins as the checkpoint's did and reaches that far."""
    try:
        with contextlib.closing(open_content(path)) as file:
            head = hashlib.sha256(file.read_at(0, at.head_bytes)).hexdigest()
            return head == at.head and not file.is_shorter_than(at.offset) and file.is_whole()
    except OSError:
        return False


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
