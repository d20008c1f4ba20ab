"""A directory of segments: the receivers append to the newest, the loader reads, stores and acknowledges the others."""

from __future__ import annotations

import contextlib
import errno
import math
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..crashpoint import reach
from ..errors import SpoolError, SpoolFull
from .dead_letters import DeadLetters, Letter
from .directory import Ownership, make_private
from .disk import Disk, LocalDisk, write_all, write_whole
from .segment import FRAME_BYTES, HEADER_BYTES, SUFFIX, Record, count_spans, frame, read_segment, segment_header, token

_QUARANTINE_BYTES = 100 * 1024 * 1024
_MOST_RESERVE_BYTES = 64 * 1024 * 1024


class Segment(NamedTuple):
    """A sealed segment; `spans` is None for one of an earlier run, which has not been looked into."""

    path: Path
    size_bytes: int
    spans: int | None

    @property
    def name(self) -> str:
        """Given once: no other segment of any spool ever has it."""
        return self.path.stem


class Content(NamedTuple):
    """
    What was readable; what was not is in quarantine/, except the unacknowledged end that a crash cut short.

    `token` names these records for ever: a database that has seen it knows that it has seen them. `lost_spans` were in
    damaged records; where a record's frame is damaged too, nobody knows.
    """

    token: str
    records: list[Record]
    quarantined_bytes: int
    torn_bytes: int
    lost_spans: int


@dataclass
class _Active:
    """The segment being written: `size_bytes` are on disk and acknowledged, what is behind them is not."""

    path: Path
    segment_id: bytes
    handle: int
    size_bytes: int
    spans: int = 0


class Spool:
    """
    Durable queue of records on disk; safe to use from several threads. Opening it reads no segment.

    Args:
        directory: Owned by one process at a time; created if missing.
        max_bytes: append() refuses beyond this: what is stored stays, what comes is the sender's to keep.
        segment_bytes: A segment is sealed when it reaches this size.
        segment_age_s: seal_if_due() leaves at least this long between two segments that are not full.
        disk: What the directory is on.
        now_ns: The clock, for names; it may jump.

    Raises:
        DirectoryInUse: Another process has it.
    """

    def __init__(
        self,
        directory: Path,
        *,
        max_bytes: int,
        segment_bytes: int,
        segment_age_s: float,
        disk: Disk | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._ownership = Ownership(directory)
        self.directory = directory
        self._disk: Disk = disk or LocalDisk()
        self._quarantine = directory / "quarantine"
        self._dead = DeadLetters(directory / "dead", self._disk)
        for each in (self._quarantine, self._dead.directory):
            make_private(each)
        self._max_bytes, self._segment_bytes, self._segment_age_s = max_bytes, segment_bytes, segment_age_s
        self._lock = threading.Lock()
        self._now_ns = now_ns
        self._last_name_ns = 0
        self._last_seal_s = -math.inf  # not 0: the clock counts from the start of the machine
        self._active: _Active | None = None
        found = [Segment(path, size, None) for path, size in self._disk.files(directory) if path.suffix == SUFFIX]
        self._sealed = {segment.path: segment for segment in found}
        self._sealed_bytes = sum(segment.size_bytes for segment in found)

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
                write_all(
                    self._disk,
                    active.handle,
                    [part for record in records for part in (frame(record, active.segment_id), record.payload)],
                )
                reach("after_write")
                self._disk.sync(active.handle)
            except OSError as error:
                self._abandon()
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise SpoolFull(f"{self.directory}: the disk is full; nothing was written") from error
                raise SpoolError(
                    f"{self.directory}: cannot write: {error}; the segment is closed, the next one is a new file"
                ) from error
            except BaseException:  # memory, say: what was written of these must not stand before the next ones
                self._abandon()
                raise
            active.size_bytes += needed
            active.spans += sum(record.spans for record in records)
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
            return list(self._sealed.values())

    def count(self, segment: Segment) -> Segment:
        """
        Find out what a segment of an earlier run holds, from a few bytes of each record where it is not damaged.

        Raises:
            SegmentUnknown, SegmentCorrupt, OSError: As read().
        """
        spans = count_spans(lambda at, size: self._disk.read(segment.path, at, size), segment.size_bytes, segment.name)
        if spans is None:
            content = self._disk.read(segment.path, 0, segment.size_bytes)
            spans = sum(found.spans for found in read_segment(content, segment.name) if isinstance(found, Record))
        counted = segment._replace(spans=spans)
        with self._lock:
            self._sealed[segment.path] = counted
        return counted

    def read(self, segment: Segment) -> Content:
        """
        Read a sealed segment; damage is copied to quarantine/ and never hides the records around it.

        Raises:
            SegmentUnknown: Another version wrote it; leave() it.
            SegmentCorrupt: It is no segment; set_aside() it.
            OSError: The disk does not give it now.
        """
        content = self._disk.read(segment.path, 0, segment.size_bytes)
        records: list[Record] = []
        quarantined = torn = lost = 0
        for found in read_segment(content, segment.name):
            if isinstance(found, Record):
                records.append(found)
            elif found.is_tail:
                torn += len(found.content)
            else:
                self._keep_damage(f"{segment.name}-at-{found.at}", found.content)
                quarantined += len(found.content)
                lost += found.spans
        return Content(token(content, segment.name), records, quarantined, torn, lost)

    def acknowledge(self, segment: Segment) -> None:
        """Forget a segment whose records are safely stored elsewhere."""
        # No fsync of the directory: should a power cut bring the file back, its token keeps it from being stored twice.
        self._disk.remove(segment.path)
        self._forget(segment)

    def set_aside(self, segment: Segment) -> None:
        """Move a whole file that is no segment to quarantine/."""
        self._disk.rename(segment.path, self._quarantine / segment.path.name)
        self._forget(segment)

    def leave(self, segment: Segment) -> None:
        """Let a file be where it is, until the next start; it still counts as part of the spool."""
        with self._lock:
            self._sealed.pop(segment.path, None)

    def dead_letter(self, segment: Segment, records: Sequence[Record], first: int, reason: str) -> bool:
        """
        Keep records that the engine refuses for good, as a segment in dead/ that can be loaded again.

        Args:
            first: Which record of the segment the first one is.

        Returns:
            False when dead/ holds its limit: these records are then lost, and the caller counts them as such.
        """
        return self._dead.keep(f"{segment.name}-{first}", records, reason, self._now_ns())

    def bury(self, segment: Segment, reason: str) -> bool:
        """
        Move a whole segment to dead/, under its own name, so that its token still keeps it from being stored twice.

        Returns:
            False when dead/ holds its limit: the segment stays where it is.
        """
        if not self._dead.bury(segment.path, segment.size_bytes, reason, self._now_ns()):
            return False
        self._forget(segment)
        return True

    def dead_letters(self) -> list[Letter]:
        """What is in dead/, oldest first."""
        return self._dead.letters()

    def retry(self, name: str) -> Letter | None:
        """Move a dead letter back to be loaded once more; None when there is none of that name."""
        letter = self._dead.move(name, self.directory)
        if letter is not None:
            path = self.directory / (name + SUFFIX)
            with self._lock:
                self._sealed[path] = Segment(path, letter.size_bytes, letter.spans)
                self._sealed_bytes += letter.size_bytes
        return letter

    def drop(self, name: str) -> Letter | None:
        """Remove a dead letter for good; None when there is none of that name."""
        return self._dead.drop(name)

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
        free, size = self._disk.room(self.directory)
        kept = reserve_bytes(size)
        if free < needed + kept:
            raise SpoolFull(f"{self.directory}: the disk has only its reserve of {kept} bytes left; make room on it")

    def _begin(self) -> _Active:
        # The name grows with time, even when the clock steps back, and its random part is never the same twice.
        self._last_name_ns = max(self._now_ns(), self._last_name_ns + 1)
        segment_id = uuid.uuid4().bytes
        path = self.directory / f"{self._last_name_ns:020d}-{segment_id.hex()}{SUFFIX}"
        handle = self._disk.create(path)
        try:
            write_all(self._disk, handle, [segment_header(segment_id)])
            self._disk.sync_directory(self.directory)
        except BaseException:
            self._disk.close(handle)
            with contextlib.suppress(OSError):
                self._disk.remove(path)
            raise
        return _Active(path, segment_id, handle, HEADER_BYTES)

    def _seal(self, active: _Active) -> None:
        self._active = None
        with contextlib.suppress(OSError):  # what matters was synced; some file systems report the past here
            self._disk.close(active.handle)
        self._sealed[active.path] = Segment(active.path, active.size_bytes, active.spans)
        self._sealed_bytes += active.size_bytes
        self._last_seal_s = time.monotonic()

    def _abandon(self) -> None:
        """After a failed write or fsync: keep what was acknowledged, cut what was not, never write to it again."""
        active = self._active
        if active is None:
            return
        if not active.spans:  # a file without a record is nothing to load
            self._active = None
            with contextlib.suppress(OSError):
                self._disk.close(active.handle)
                self._disk.remove(active.path)
            return
        with contextlib.suppress(OSError):  # if even this fails, the segment's size says where to stop reading
            self._disk.truncate(active.handle, active.size_bytes)
            self._disk.sync(active.handle)
        self._seal(active)

    def _keep_damage(self, name: str, content: bytes) -> None:
        """Copy to quarantine/, where the oldest make room."""
        found = self._disk.files(self._quarantine)
        size = sum(size for _, size in found) + len(content)
        for path, freed in found:
            if size <= _QUARANTINE_BYTES:
                break
            self._disk.remove(path)
            size -= freed
        write_whole(self._disk, self._quarantine / name, [content])

    def _forget(self, segment: Segment) -> None:
        with self._lock:
            if self._sealed.pop(segment.path, None):
                self._sealed_bytes -= segment.size_bytes


def reserve_bytes(disk_bytes: int) -> int:
    """What the spool leaves free on a disk of this size, for the database to make room with: 5 %, at most 64 MiB."""
    return min(_MOST_RESERVE_BYTES, disk_bytes // 20)
