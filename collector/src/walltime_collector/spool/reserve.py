"""Keeps free space on the disk of the data directory: loading stops early, and a ballast file can be removed."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path

from ..errors import EngineUnavailable
from .directory import room

log = logging.getLogger(__name__)

BALLAST_BYTES = 16 * 1024 * 1024
_FULL_BYTES = 4 * 1024 * 1024
"""chDB needs a free MiB to write. An earlier removal of the ballast would only feed the program that fills the disk."""
_INSERT_BYTES = 20 * 1024 * 1024
_LEAST_INSERT_BYTES = 1024 * 1024


def largest_segment_bytes(disk_bytes: int) -> int:
    """How large a segment may be on a disk of this size: a 32th of it, at least 1 MiB."""
    return max(disk_bytes // 32, _LEAST_INSERT_BYTES)


def reserve_bytes(disk_bytes: int) -> int:
    """
    What the spool leaves free on a disk of this size: an eighth, at most 80 MiB.

    The database reserves as much as the rows of an INSERT have, in each of two tables. It begins one with half of this
    reserve, so that a spool that is full can still be loaded; and merges have the rest.
    """
    return 4 * min(largest_segment_bytes(disk_bytes), _INSERT_BYTES)


class Reserve:
    """
    Checked before every INSERT into the embedded database, which cannot even delete on a full disk.

    The spool stops at the reserve (`reserve_bytes`). Loading, which frees more in the spool than it takes, stops at
    half of it. When the disk is fuller still, the ballast file is removed, so that the database can merge and drop what
    is past its retention; it is created again when there is room for it twice.
    """

    def __init__(self, data: Path) -> None:
        self._data, self._ballast = data, data / "ballast"
        self._create_ballast()

    def check(self) -> None:
        """
        Check that there is room for an INSERT.

        Raises:
            EngineUnavailable: There is none.
        """
        free, size = room(self._data)
        least = reserve_bytes(size) // 2
        if free < least:
            if free < _FULL_BYTES and self._ballast.exists():
                log.warning("%s: the disk is full; the ballast of %d bytes is removed", self._data, BALLAST_BYTES)
                self._ballast.unlink(missing_ok=True)
            raise EngineUnavailable(
                f"{self._data}: the disk has {free} bytes left and its reserve is {least}; make room on it; "
                "requests are spooled as long as there is room"
            )
        if not self._ballast.exists():
            self._create_ballast()

    def _create_ballast(self) -> None:
        free, size = room(self._data)
        if free < reserve_bytes(size) + 2 * BALLAST_BYTES:
            return
        with contextlib.suppress(OSError):
            handle = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(handle, 0, BALLAST_BYTES)
            finally:
                os.close(handle)
