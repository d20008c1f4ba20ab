"""Keeps free space on the disk of the data directory: loading stops early, and a ballast file can be removed."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path

from ..errors import EngineUnavailable
from .directory import room

log = logging.getLogger(__name__)

_MAX_RESERVE_BYTES = 64 * 1024 * 1024
BALLAST_BYTES = 16 * 1024 * 1024
_FULL_BYTES = 4 * 1024 * 1024
"""chDB needs a free MiB to write. An earlier removal of the ballast would only feed the program that fills the disk."""


def reserve_bytes(disk_bytes: int) -> int:
    """What the spool leaves free on a disk of this size, for the database to make room with: 5 %, at most 64 MiB."""
    return min(_MAX_RESERVE_BYTES, disk_bytes // 20)


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
