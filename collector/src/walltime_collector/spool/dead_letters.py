"""Requests that the engine refused for good: each a segment of its own in dead/, with the reason beside it."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import SegmentCorrupt, SegmentUnknown
from .disk import Disk, write_whole
from .segment import SUFFIX, Payload, Record, frame, id_in, read_segment, segment_header

MAX_BYTES = 100 * 1024 * 1024
_REASON = ".json"
_BLOCK_BYTES = 4096
_LONGEST_REASON = 2000


@dataclass(frozen=True)
class Letter:
    """One file in dead/. Times are nanoseconds since 1970; 0 where nobody knows."""

    name: str
    received_at_ns: int
    refused_at_ns: int
    spans: int
    size_bytes: int
    reason: str


class DeadLetters:
    """
    The folder; safe to use from several threads.

    It never holds more than MAX_BYTES, each file counted in whole blocks of the disk.
    """

    def __init__(self, directory: Path, disk: Disk) -> None:
        self.directory, self._disk = directory, disk
        self._lock = threading.Lock()

    def keep(self, name: str, records: Sequence[Record], reason: str, now_ns: int) -> bool:
        """
        Keep records under a name that says where they came from; keeping them again replaces them.

        Returns:
            False when the folder is full: nothing was kept.

        Raises:
            OSError: The disk failed, and may do better later.
        """
        segment_id = id_in(name) or uuid.uuid4().bytes
        parts: list[Payload] = [segment_header(segment_id)]
        for record in records:
            parts += [frame(record, segment_id), record.payload]
        path = self._path(name)
        with self._lock:
            if not self._explain(name, sum(map(len, parts)), reason, now_ns):
                return False
            write_whole(self._disk, path, parts)
            return True

    def bury(self, path: Path, size_bytes: int, reason: str, now_ns: int) -> bool:
        """
        Move a segment's file here; False when the folder is full.

        Raises:
            OSError: The disk failed, and may do better later.
        """
        with self._lock:
            if not self._explain(path.stem, size_bytes, reason, now_ns):
                return False
            self._disk.rename(path, self.directory / path.name)
            self._disk.sync_directory(self.directory)
            return True

    def letters(self) -> list[Letter]:
        """What is in the folder, oldest first; a file that cannot be read is shown as one without spans."""
        found = [(path, size) for path, size in self._disk.files(self.directory) if path.suffix == SUFFIX]
        return sorted((self._letter(path, size) for path, size in found), key=lambda each: each.received_at_ns)

    def move(self, name: str, directory: Path) -> Letter | None:
        """Move a letter to another directory, durably, without its reason; None when there is none of that name."""
        with self._lock:
            letter = self._named(name)
            if letter is not None:
                path = self._path(name)
                self._disk.rename(path, directory / path.name)
                self._disk.sync_directory(directory)
                self._disk.sync_directory(self.directory)
                self._disk.remove(path.with_suffix(_REASON))
            return letter

    def drop(self, name: str) -> Letter | None:
        """Remove a letter for good; None when there is none of that name."""
        with self._lock:
            letter = self._named(name)
            if letter is not None:
                self._disk.remove(self._path(name))
                self._disk.remove(self._path(name).with_suffix(_REASON))
                self._disk.sync_directory(self.directory)
            return letter

    def _explain(self, name: str, size_bytes: int, reason: str, now_ns: int) -> bool:
        """Write why, if there is room for it and for what it is about."""
        why = json.dumps({"refused_at_ns": now_ns, "reason": reason[:_LONGEST_REASON]}).encode()
        others = sum(_on_disk(size) for each, size in self._disk.files(self.directory) if each.stem != name)
        if others + _on_disk(size_bytes) + _on_disk(len(why)) > MAX_BYTES:
            return False
        write_whole(self._disk, self._path(name).with_suffix(_REASON), [why])
        return True

    def _named(self, name: str) -> Letter | None:
        path = self._path(name)
        size = dict(self._disk.files(self.directory)).get(path)  # a name with a path in it is none of these
        return None if size is None else self._letter(path, size)

    def _path(self, name: str) -> Path:
        return self.directory / (name + SUFFIX)

    def _letter(self, path: Path, size_bytes: int) -> Letter:
        records: list[Record] = []
        damaged = ""
        try:
            content = self._disk.read(path, 0, size_bytes)
            records = [found for found in read_segment(content, path.stem) if isinstance(found, Record)]
        except (OSError, SegmentCorrupt, SegmentUnknown) as error:
            damaged = f"cannot be read: {error}"
        refused_at_ns, reason = self._why(path)
        return Letter(
            path.stem,
            min((record.received_at_ns for record in records), default=0),
            refused_at_ns,
            sum(record.spans for record in records),
            size_bytes,
            damaged or reason,
        )

    def _why(self, path: Path) -> tuple[int, str]:
        try:
            said = json.loads(self._disk.read(path.with_suffix(_REASON), 0, 64 * 1024))
            return int(said["refused_at_ns"]), str(said["reason"])
        except (OSError, ValueError, LookupError, TypeError):
            return 0, ""


def _on_disk(size_bytes: int) -> int:
    return -(-size_bytes // _BLOCK_BYTES) * _BLOCK_BYTES
