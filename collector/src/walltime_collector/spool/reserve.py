"""Keeps room on the data's disk: a file that gives way when somebody else filled it, and a stop before we do."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path

from ..errors import EngineUnavailable
from .directory import room
from .spool import reserve_bytes

log = logging.getLogger(__name__)

BALLAST_BYTES = 16 * 1024 * 1024
_FULL_BYTES = 4 * 1024 * 1024
"""chDB writes nothing below a free MiB. Not sooner: who still fills the disk would have the ballast too."""


class Reserve:
    """
    Asked before every INSERT into the embedded database, which on a full disk cannot even delete.

    The spool stops at the reserve (`reserve_bytes`); loading, which makes more room in the spool than it takes, stops
    at half of it. When the disk is fuller still, the ballast goes, for the database to merge and to drop what its
    retention says; it comes back when there is room for it twice.
    """

    def __init__(self, data: Path) -> None:
        self._data, self._ballast = data, data / "ballast"
        self._hold()

    def check(self) -> None:
        """
        See that there is room for an INSERT.

        Raises:
            EngineUnavailable: There is not.
        """
        free, size = room(self._data)
        least = reserve_bytes(size) // 2
        if free < least:
            if free < _FULL_BYTES and self._ballast.exists():
                log.warning("%s: the disk is full; the ballast of %d bytes goes", self._data, BALLAST_BYTES)
                self._ballast.unlink(missing_ok=True)
            raise EngineUnavailable(
                f"{self._data}: the disk has {free} bytes left and its reserve is {least}; make room on it, "
                "what arrives is spooled as long as there is room"
            )
        if not self._ballast.exists():
            self._hold()

    def _hold(self) -> None:
        free, size = room(self._data)
        if free < reserve_bytes(size) + 2 * BALLAST_BYTES:
            return
        with contextlib.suppress(OSError):
            handle = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(handle, 0, BALLAST_BYTES)
            finally:
                os.close(handle)
