"""A directory of segments: the receivers append to the newest, the loader reads, stores and acknowledges the others."""

from __future__ import annotations

import errno
import math
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import SpoolError, SpoolFull
from .active import ActiveSegment
from .dead_letters import DeadLetters, Letter
from .directory import Ownership, make_private
from .disk import Disk, write_whole
from .reserve import largest_segment_bytes, reserve_bytes
from .segment import SUFFIX, Record, count_spans, read_segment, stored_bytes, token

_QUARANTINE_BYTES = 100 * 1024 * 1024


class Segment(NamedTuple):
    """A sealed segment; `spans` is None for a segment of an earlier run until `Spool.count`."""

    path: Path
    size_bytes: int
    spans: int | None

    @property
    def name(self) -> str:
        """Unique: no other segment of any spool ever has it."""
        return self.path.stem


class Content(NamedTuple):
    """
    The readable records. The damaged bytes are in quarantine/, except an unacknowledged end that a crash cut short.

    `token` stands for these records for ever: a database that has seen it has seen them. `lost_spans` were in damaged
    records, as far as their frames are readable.
    """

    token: str
    records: list[Record]
    quarantined_bytes: int
    torn_bytes: int
    lost_spans: int


class Spool:
    """
    Durable queue of records on disk; safe to use from several threads. Opening it reads no segment.

    Args:
        directory: Used by one process at a time; created if missing.
        max_bytes: append() refuses records beyond this; stored records stay.
        segment_bytes: A segment is sealed when it reaches this size, or on a small disk a share of it.
        segment_age_s: Shortest time between two segments that seal_if_due() seals.
        disk: The disk of the directory.
        now_ns: The clock, for file names; it may jump.

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
        self._disk = disk or Disk()
        self._quarantine = directory / "quarantine"
        self._dead = DeadLetters(directory / "dead", self._disk)
        for each in (self._quarantine, self._dead.directory):
            make_private(each)
        self._segment_bytes = min(segment_bytes, largest_segment_bytes(self._disk.room(directory)[1]))
        self._max_bytes, self._segment_age_s = max_bytes, segment_age_s
        self._lock = threading.Lock()
        self._now_ns = now_ns
        self._last_name_ns = 0
        self._last_seal_s = -math.inf  # not 0: the clock counts from the start of the machine
        self._active: ActiveSegment | None = None
        files = [(path, size) for path, size in self._disk.files(directory) if path.suffix == SUFFIX]
        self._sealed = {path: Segment(path, size, None) for path, size in files}
        self._sealed_bytes = sum(size for _, size in files)

    @property
    def size_bytes(self) -> int:
        """The bytes of all segments on disk."""
        active = self._active
        return self._sealed_bytes + (active.size_bytes if active else 0)

    @property
    def segment_room_bytes(self) -> int:
        """How much can be appended until a segment is sealed; records that go beyond it make it larger."""
        active = self._active
        return self._segment_bytes - (active.size_bytes if active else 0)

    def append(self, records: Sequence[Record]) -> None:
        """
        Store all the records, or none; they are on disk (fsync) when this returns.

        Raises:
            SpoolFull: The spool holds its limit, or the disk its reserve. Trying again later may help.
            SpoolError: The disk failed. These records may be stored or not; earlier ones are safe.
        """
        needed = sum(map(stored_bytes, records))
        with self._lock:
            self._check_room(needed)
            try:
                active = self._active = self._active or self._begin()
                active.append(records, needed)
            except OSError as error:
                self._abandon()
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise SpoolFull(f"{self.directory}: the disk is full; nothing was written") from error
                raise SpoolError(
                    f"{self.directory}: cannot write: {error}; the segment is closed, the next one is a new file"
                ) from error
            except BaseException:  # for example no memory: a part of these records must not stand before later ones
                self._abandon()
                raise
            if active.size_bytes >= self._segment_bytes:
                self._seal(active)

    def seal_if_due(self) -> None:
        """Seal the appended records, so that they can be loaded, unless the last segment is younger than the age."""
        with self._lock:
            if self._active and time.monotonic() - self._last_seal_s >= self._segment_age_s:
                self._seal(self._active)

    def seal(self) -> None:
        """Seal the appended records now."""
        with self._lock:
            if self._active:
                self._seal(self._active)

    def sealed(self) -> list[Segment]:
        """The segments to load, oldest first, with those of earlier runs."""
        with self._lock:
            return list(self._sealed.values())

    def count(self, segment: Segment) -> Segment:
        """
        Count the spans of a segment of an earlier run; reads a few bytes of each record unless it is damaged.

        Raises:
            SegmentUnknown, SegmentCorrupt, OSError: As read().
        """
        spans = count_spans(lambda at, size: self._disk.read(segment.path, at, size), segment.size_bytes, segment.name)
        if spans is None:
            content = self._disk.read(segment.path, 0, segment.size_bytes)
            spans = sum(each.spans for each in read_segment(content, segment.name) if isinstance(each, Record))
        counted = segment._replace(spans=spans)
        with self._lock:
            self._sealed[segment.path] = counted
        return counted

    def read(self, segment: Segment) -> Content:
        """
        Read a sealed segment; damaged bytes are copied to quarantine/, the records around them are returned.

        Raises:
            SegmentUnknown: Another version wrote it; call leave().
            SegmentCorrupt: It is no segment; call set_aside().
            OSError: It cannot be read now.
        """
        content = self._disk.read(segment.path, 0, segment.size_bytes)
        records: list[Record] = []
        quarantined = torn = lost = 0
        for each in read_segment(content, segment.name):
            if isinstance(each, Record):
                records.append(each)
            elif each.is_tail:
                torn += len(each.content)
            else:
                self._quarantine_bytes(f"{segment.name}-at-{each.at}", each.content)
                quarantined += len(each.content)
                lost += each.spans
        return Content(token(content, segment.name), records, quarantined, torn, lost)

    def acknowledge(self, segment: Segment) -> None:
        """Remove a segment whose records are stored in the engine."""
        # No fsync of the directory: if a power cut brings the file back, its token keeps it from being stored twice.
        self._disk.remove(segment.path)
        self._forget(segment)

    def set_aside(self, segment: Segment) -> None:
        """Move a file that is no segment to quarantine/."""
        self._disk.rename(segment.path, self._quarantine / segment.path.name)
        self._forget(segment)

    def leave(self, segment: Segment) -> None:
        """Leave a file where it is until the next start; its size still counts."""
        with self._lock:
            self._sealed.pop(segment.path, None)

    def dead_letter(self, segment: Segment, records: Sequence[Record], first: int, reason: str) -> bool:
        """
        Keep records that the engine refuses for good, as a segment in dead/ that can be loaded again.

        Args:
            first: The position of the first record in the segment.

        Returns:
            False when dead/ is full: the records are lost, and the caller counts them as lost.
        """
        return self._dead.keep(f"{segment.name}-{first}", records, reason, self._now_ns())

    def bury(self, segment: Segment, reason: str) -> bool:
        """
        Move a whole segment to dead/ under its own name, so that its token still keeps it from being stored twice.

        Returns:
            False when dead/ is full: the segment stays where it is.
        """
        if not self._dead.bury(segment.path, segment.size_bytes, reason, self._now_ns()):
            return False
        self._forget(segment)
        return True

    def dead_letters(self) -> list[Letter]:
        """The letters in dead/, oldest first."""
        return self._dead.letters()

    def retry(self, name: str) -> Letter | None:
        """Move a dead letter back, to be loaded again; None when no letter has that name."""
        letter = self._dead.move(name, self.directory)
        if letter is not None:
            path = self.directory / (name + SUFFIX)
            with self._lock:
                self._sealed[path] = Segment(path, letter.size_bytes, letter.spans)
                self._sealed_bytes += letter.size_bytes
        return letter

    def drop(self, name: str) -> Letter | None:
        """Remove a dead letter for good; None when no letter has that name."""
        return self._dead.drop(name)

    def close(self) -> None:
        """Seal, and release the directory."""
        self.seal()
        self._ownership.release()

    def _check_room(self, needed: int) -> None:
        if self.size_bytes + needed > self._max_bytes:
            raise SpoolFull(
                f"{self.directory}: the spool holds {self.size_bytes} bytes and its limit is {self._max_bytes}; "
                "it empties as soon as the database takes data again"
            )
        free, size = self._disk.room(self.directory)
        reserve = reserve_bytes(size)
        if free < needed + reserve:
            raise SpoolFull(f"{self.directory}: the disk has only its reserve of {reserve} bytes left; make room on it")

    def _begin(self) -> ActiveSegment:
        # names sort by age, even when the clock steps back
        self._last_name_ns = max(self._now_ns(), self._last_name_ns + 1)
        return ActiveSegment(self._disk, self.directory, self._last_name_ns)

    def _seal(self, active: ActiveSegment) -> None:
        active.close()
        self._add_sealed(active)

    def _abandon(self) -> None:
        """After a failed write or fsync: seal what was acknowledged, and never write to that file again."""
        active, self._active = self._active, None
        if active is not None and active.abandon():
            self._add_sealed(active)

    def _add_sealed(self, active: ActiveSegment) -> None:
        self._active = None
        self._sealed[active.path] = Segment(active.path, active.size_bytes, active.spans)
        self._sealed_bytes += active.size_bytes
        self._last_seal_s = time.monotonic()

    def _quarantine_bytes(self, name: str, content: bytes) -> None:
        """Copy to quarantine/; when it is full, the oldest files are removed."""
        files = self._disk.files(self._quarantine)
        size = sum(size for _, size in files) + len(content)
        for path, freed in files:
            if size <= _QUARANTINE_BYTES:
                break
            self._disk.remove(path)
            size -= freed
        write_whole(self._disk, self._quarantine / name, [content])

    def _forget(self, segment: Segment) -> None:
        with self._lock:
            if self._sealed.pop(segment.path, None):
                self._sealed_bytes -= segment.size_bytes
