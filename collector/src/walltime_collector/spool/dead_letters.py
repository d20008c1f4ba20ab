"""Requests that the engine refuses permanently: each is a segment in dead/, with the reason in a file beside it."""

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
_MAX_REASON_CHARS = 2000


@dataclass(frozen=True)
class Letter:
    """One file in dead/. Times are nanoseconds since 1970; 0 when unknown."""

    name: str
    received_at_ns: int
    refused_at_ns: int
    spans: int
    size_bytes: int
    reason: str


class DeadLetters:
    """
    The folder dead/; safe to use from several threads.

    It holds at most MAX_BYTES, where each file counts in whole blocks of the disk.
    """

    def __init__(self, directory: Path, disk: Disk) -> None:
        self.directory, self._disk = directory, disk
        self._lock = threading.Lock()

    def keep(self, name: str, records: Sequence[Record], reason: str, now_ns: int) -> bool:
        """
        Keep records under the name of their segment and position; keeping them again replaces them.

        Returns:
            False when the folder is full: nothing is kept.

        Raises:
            OSError: The disk failed; try again later.
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
            OSError: The disk failed; try again later.
        """
        with self._lock:
            if not self._explain(path.stem, size_bytes, reason, now_ns):
                return False
            self._disk.rename(path, self.directory / path.name)
            self._disk.sync_directory(self.directory)
            return True

    def letters(self) -> list[Letter]:
        """The letters in the folder, oldest first; a file that cannot be read is a letter without spans."""
        files = [(path, size) for path, size in self._disk.files(self.directory) if path.suffix == SUFFIX]
        return sorted((self._letter(path, size) for path, size in files), key=lambda each: each.received_at_ns)

    def move(self, name: str, directory: Path) -> Letter | None:
        """Move a letter to another directory, durably, without its reason; None when no letter has that name."""
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
        """Remove a letter for good; None when no letter has that name."""
        with self._lock:
            letter = self._named(name)
            if letter is not None:
                self._disk.remove(self._path(name))
                self._disk.remove(self._path(name).with_suffix(_REASON))
                self._disk.sync_directory(self.directory)
            return letter

    def _explain(self, name: str, size_bytes: int, reason: str, now_ns: int) -> bool:
        """Write the file of the reason, if the folder has room for it and for a letter of that size."""
        content = json.dumps({"refused_at_ns": now_ns, "reason": reason[:_MAX_REASON_CHARS]}).encode()
        others = sum(_on_disk(size) for each, size in self._disk.files(self.directory) if each.stem != name)
        if others + _on_disk(size_bytes) + _on_disk(len(content)) > MAX_BYTES:
            return False
        write_whole(self._disk, self._path(name).with_suffix(_REASON), [content])
        return True

    def _named(self, name: str) -> Letter | None:
        path = self._path(name)
        size = dict(self._disk.files(self.directory)).get(path)  # so a name that contains a path matches nothing
        return None if size is None else self._letter(path, size)

    def _path(self, name: str) -> Path:
        return self.directory / (name + SUFFIX)

    def _letter(self, path: Path, size_bytes: int) -> Letter:
        records: list[Record] = []
        damaged = ""
        try:
            content = self._disk.read(path, 0, size_bytes)
            records = [each for each in read_segment(content, path.stem) if isinstance(each, Record)]
        except (OSError, SegmentCorrupt, SegmentUnknown) as error:
            damaged = f"cannot be read: {error}"
        refused_at_ns, reason = self._reason(path)
        return Letter(
            path.stem,
            min((record.received_at_ns for record in records), default=0),
            refused_at_ns,
            sum(record.spans for record in records),
            size_bytes,
            damaged or reason,
        )

    def _reason(self, path: Path) -> tuple[int, str]:
        try:
            content = json.loads(self._disk.read(path.with_suffix(_REASON), 0, 64 * 1024))
            return int(content["refused_at_ns"]), str(content["reason"])
        except (OSError, ValueError, LookupError, TypeError):
            return 0, ""


def _on_disk(size_bytes: int) -> int:
    return -(-size_bytes // _BLOCK_BYTES) * _BLOCK_BYTES
