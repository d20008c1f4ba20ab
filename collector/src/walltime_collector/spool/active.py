"""The segment that is being written."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Sequence
from pathlib import Path

from ..crashpoint import reach
from .disk import Disk, write_all
from .segment import HEADER_BYTES, SUFFIX, Record, frame, segment_header


class ActiveSegment:
    """
    An open file of its own; not safe to use from several threads.

    `size_bytes` are on disk and acknowledged, and hold `spans`; bytes behind them are not acknowledged.

    Args:
        number: Makes names sort by age; the rest of the name is random, so that no other segment ever has it.

    Raises:
        OSError: The file cannot be created; nothing is left of it.
    """

    def __init__(self, disk: Disk, directory: Path, number: int) -> None:
        self._disk = disk
        self._segment_id = uuid.uuid4().bytes
        self.path = directory / f"{number:020d}-{self._segment_id.hex()}{SUFFIX}"
        self.size_bytes, self.spans = HEADER_BYTES, 0
        self._handle = disk.create(self.path)
        try:
            write_all(disk, self._handle, [segment_header(self._segment_id)])
            disk.sync_directory(directory)
        except BaseException:
            disk.close(self._handle)
            with contextlib.suppress(OSError):
                disk.remove(self.path)
            raise

    def append(self, records: Sequence[Record], size_bytes: int) -> None:
        """
        Write records of `size_bytes`, frames included, and sync them.

        Raises:
            OSError: Nothing of them is acknowledged; call `abandon`.
        """
        framed = [part for record in records for part in (frame(record, self._segment_id), record.payload)]
        write_all(self._disk, self._handle, framed)
        reach("after_write")
        self._disk.sync(self._handle)
        self.size_bytes += size_bytes
        self.spans += sum(record.spans for record in records)
        reach("after_fsync")

    def close(self) -> None:
        """Close the file; everything acknowledged is synced already."""
        with contextlib.suppress(OSError):  # some file systems report earlier errors here
            self._disk.close(self._handle)

    def abandon(self) -> bool:
        """After a failed append: remove what was not acknowledged, and close; False when nothing is left to load."""
        if self.size_bytes == HEADER_BYTES:
            self.close()
            with contextlib.suppress(OSError):
                self._disk.remove(self.path)
            return False
        with contextlib.suppress(OSError):  # if this fails too, `size_bytes` limits what is read
            self._disk.truncate(self._handle, self.size_bytes)
            self._disk.sync(self._handle)
        self.close()
        return True
