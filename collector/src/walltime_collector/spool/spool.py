"""A directory of segments: the receivers append to the newest, the loader reads, stores and acknowledges the others."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..crashpoint import reach
from ..directory import Ownership, fsync_directory, make_private
from ..errors import SegmentCorrupt, SpoolError, SpoolFull
from .segment import FRAME_BYTES, HEADER_BYTES, Record, frame, read_segment, segment_header

SUFFIX = ".segment"
_DEAD_LETTER_BYTES = 100 * 1024 * 1024


class Segment(NamedTuple):
    """
    A sealed segment. `token` names it among all segments of all spools, for ever: it holds the spool's id and a name
    that is never given twice, so a database that has seen it knows that it has seen these records.
    """

    path: Path
    token: str
    size_bytes: int


class Content(NamedTuple):
    """What was readable; what was not is in quarantine/, except the unacknowledged end that a crash cut short."""

    records: list[Record]
    quarantined_bytes: int
    torn_bytes: int


@dataclass
class _Active:
    """The segment being written: `size_bytes` are on disk and acknowledged, what is behind them is not."""

    path: Path
    handle: int
    size_bytes: int


class Spool:
    """
    Durable queue of records on disk; safe to use from several threads.

    Args:
        directory: Owned by one process at a time; created if missing.
        max_bytes: append() refuses beyond this.
        segment_bytes: A segment is sealed when it reaches this size.
        segment_age_s: seal_if_due() leaves at least this long between two segments that are not full.

    Raises:
        DirectoryInUse: Another process has it.
    """

    def __init__(self, directory: Path, *, max_bytes: int, segment_bytes: int, segment_age_s: float) -> None:
        self._ownership = Ownership(directory)
        self.directory = directory
        self._quarantine = directory / "quarantine"
        self._dead_letters = directory / "dead"
        for each in (self._quarantine, self._dead_letters):
            make_private(each)
        self._max_bytes, self._segment_bytes, self._segment_age_s = max_bytes, segment_bytes, segment_age_s
        self._lock = threading.Lock()
        self._id = _spool_id(directory)
        self._sealed = [
            Segment(path, self._token(path), path.stat().st_size) for path in sorted(directory.glob("*" + SUFFIX))
        ]
        self._sealed_bytes = sum(segment.size_bytes for segment in self._sealed)
        self._last_name_ns = 0
        self._last_seal_s = 0.0
        self._active: _Active | None = None

    @property
    def size_bytes(self) -> int:
        """What the records take on disk now."""
        active = self._active
        return self._sealed_bytes + (active.size_bytes if active else 0)

    def append(self, records: Sequence[Record]) -> None:
        """
        Store all the records, or none; they are on disk (fsync) when this returns.

        Raises:
            SpoolFull: The spool holds its limit, or the disk its reserve. Trying again later may help.
            SpoolError: The disk failed. Nothing is promised about these records; those before them are safe.
        """
        needed = sum(FRAME_BYTES + len(record.payload) for record in records)
        with self._lock:
            self._check_room(needed)
            try:
                active = self._active = self._active or self._begin()
                _write(
                    active.handle, [part for record in records for part in (frame(record, self._id), record.payload)]
                )
                reach("after_write")
                os.fdatasync(active.handle)
            except OSError as error:
                self._abandon()
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise SpoolFull(f"{self.directory}: the disk is full; nothing was written") from error
                raise SpoolError(
                    f"{self.directory}: cannot write: {error}; the segment is closed, the next one is a new file"
                ) from error
            active.size_bytes += needed
            reach("after_fsync")
            if active.size_bytes >= self._segment_bytes:
                self._seal(active)

    def seal_if_due(self) -> None:
        """Seal what has been appended, so that it can be loaded, unless the last seal was less than the age ago."""
        with self._lock:
            if self._active and time.monotonic() - self._last_seal_s >= self._segment_age_s:
                self._seal(self._active)

    def seal(self) -> None:
        """Seal what has been appended, now."""
        with self._lock:
            if self._active:
                self._seal(self._active)

    def sealed(self) -> list[Segment]:
        """The segments that wait to be loaded, oldest first, those of earlier runs included."""
        with self._lock:
            return list(self._sealed)

    def read(self, segment: Segment) -> Content:
        """
        Read a sealed segment; damage is copied to quarantine/ and never hides the records around it.

        Raises:
            SegmentCorrupt: It is no segment of this spool, or its version is unknown here; set_aside() it.
        """
        content = segment.path.read_bytes()
        records: list[Record] = []
        quarantined = torn = 0
        for found in read_segment(content, self._id):
            if isinstance(found, Record):
                records.append(found)
            elif found.is_tail:
                torn += len(found.content)
            else:
                _write_private(self._quarantine / f"{segment.path.stem}-{found.at}", found.content)
                quarantined += len(found.content)
        return Content(records, quarantined, torn)

    def acknowledge(self, segment: Segment) -> None:
        """Forget a segment whose records are safely stored elsewhere."""
        # No fsync of the directory: should a power cut bring the file back, its token keeps it from being stored twice.
        segment.path.unlink(missing_ok=True)
        self._forget(segment)

    def set_aside(self, segment: Segment) -> None:
        """Move a whole unreadable file to quarantine/."""
        segment.path.rename(self._quarantine / segment.path.name)
        self._forget(segment)

    def dead_letter(self, segment: Segment, records: Sequence[Record], first: int) -> bool:
        """
        Keep records that the engine refuses for good, as a segment in dead/ that can be moved back to be loaded again.

        Returns:
            False when dead/ holds its 100 MiB: these records are then lost, and the caller counts them as such.
        """
        size = sum(path.stat().st_size for path in self._dead_letters.iterdir())
        parts = [segment_header(self._id)]
        for record in records:
            parts += [frame(record, self._id), record.payload]
        content = b"".join(parts)
        if size + len(content) > _DEAD_LETTER_BYTES:
            return False
        _write_private(self._dead_letters / f"{segment.path.stem}-{first}{SUFFIX}", content)
        return True

    def close(self) -> None:
        """Seal, and let another process have the directory."""
        self.seal()
        self._ownership.release()

    def _check_room(self, needed: int) -> None:
        if self.size_bytes + needed > self._max_bytes:
            raise SpoolFull(
                f"{self.directory}: the spool holds {self.size_bytes} bytes and its limit is {self._max_bytes}; "
                "it empties as soon as the database takes data again"
            )
        disk = os.statvfs(self.directory)
        reserve = min(64 * 1024 * 1024, disk.f_blocks * disk.f_frsize // 20)
        if disk.f_bavail * disk.f_frsize < needed + reserve:
            raise SpoolFull(f"{self.directory}: the disk has only its reserve of {reserve} bytes left; make room on it")

    def _begin(self) -> _Active:
        # The name grows with time, even when the clock steps back, and its random part is never the same twice.
        self._last_name_ns = max(time.time_ns(), self._last_name_ns + 1)
        path = self.directory / f"{self._last_name_ns:020d}-{uuid.uuid4().hex[:16]}{SUFFIX}"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            _write(handle, [segment_header(self._id)])
            fsync_directory(self.directory)
        except OSError:
            os.close(handle)
            path.unlink(missing_ok=True)
            raise
        return _Active(path, handle, HEADER_BYTES)

    def _seal(self, active: _Active) -> None:
        os.close(active.handle)
        self._sealed.append(Segment(active.path, self._token(active.path), active.size_bytes))
        self._sealed_bytes += active.size_bytes
        self._active = None
        self._last_seal_s = time.monotonic()

    def _abandon(self) -> None:
        """After a failed write or fsync: keep what was acknowledged, cut what was not, never write to it again."""
        if not self._active:
            return
        with contextlib.suppress(OSError):  # if even this fails, the loader reads around whatever is there
            os.ftruncate(self._active.handle, self._active.size_bytes)
            os.fsync(self._active.handle)
        self._seal(self._active)

    def _forget(self, segment: Segment) -> None:
        with self._lock:
            self._sealed.remove(segment)
            self._sealed_bytes -= segment.size_bytes

    def _token(self, path: Path) -> str:
        return f"{self._id.hex()}/{path.stem}"


def _spool_id(directory: Path) -> bytes:
    """The spool's own id, made with it; without it, no segment in the directory can be read."""
    path = directory / "id"
    try:
        return uuid.UUID(path.read_text("ascii").strip()).bytes
    except FileNotFoundError:
        if any(directory.glob("*" + SUFFIX)):
            raise SegmentCorrupt(
                f"{path}: missing, though there are segments; bring it back, or move the segments away"
            ) from None
    except ValueError as error:
        raise SegmentCorrupt(
            f"{path}: not a spool id; bring it back from a copy, or move the directory away"
        ) from error
    made = uuid.uuid4()
    _write_private(path, made.hex.encode())
    return made.bytes


def _write(handle: int, parts: list[bytes]) -> None:
    content = memoryview(b"".join(parts))
    while content:
        content = content[os.write(handle, content) :]


def _write_private(path: Path, content: bytes) -> None:
    """Write a whole file durably: complete under its name, or not there."""
    temporary = path.with_name(path.name + ".new")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _write(handle, [content])
        os.fsync(handle)
    finally:
        os.close(handle)
    temporary.rename(path)
    fsync_directory(path.parent)
