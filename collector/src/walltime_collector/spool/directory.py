"""The collector's data directories: only their owner can read them, and one process at a time uses them."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from ..errors import DirectoryInUse, SettingsRefused

_ORPHAN_WAIT_S = 3.0  # for the child of an owner that was killed


def make_private(directory: Path, where: str = "") -> None:
    """
    Create the directory and its parents with mode 0700, durably; an existing one keeps its mode.

    Args:
        where: The setting of the directory, for a message.

    Raises:
        SettingsRefused: It cannot be created.
    """
    made = [each for each in (directory, *directory.parents) if not each.exists()]
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for each in made:
            sync_directory(each.parent)
    except OSError as error:
        named = f"{where} {directory}".lstrip()
        raise SettingsRefused(
            f"{named}: cannot make this directory: {error.strerror}; choose another one with --data"
        ) from error


def sync_directory(directory: Path) -> None:
    """Make the directory's names survive a power cut; raises OSError."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def room(directory: Path) -> tuple[int, int]:
    """
    How many bytes of the directory's disk are free for a user other than root, and how many it has.

    Raises:
        OSError: The directory's disk cannot be read.
    """
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize


class Ownership:
    """
    A lock on the file `lock` of a directory, held by one process and released when that process ends.

    Raises:
        DirectoryInUse: Another process holds it.
    """

    def __init__(self, directory: Path) -> None:
        make_private(directory)
        path = directory / "lock"
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline_s = time.monotonic() + _ORPHAN_WAIT_S
        while not self._lock():
            owner = os.pread(self._handle, 20, 0).decode("ascii", "replace").strip()
            if _is_alive(owner) or time.monotonic() > deadline_s:
                os.close(self._handle)
                raise DirectoryInUse(
                    f"{directory}: another collector (process {owner or 'unknown'}) owns it; "
                    "stop that one, or give this one a directory of its own with --data"
                )
            time.sleep(0.01)
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def fileno(self) -> int:
        """The lock's file descriptor: a child that inherits it shares the lock, until both have ended."""
        return self._handle

    def release(self) -> None:
        """Release the lock; a second call is harmless."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _lock(self) -> bool:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def _is_alive(process: str) -> bool:
    """Whether the process exists; the child of an owner that was killed may hold the lock until it ends too."""
    if not process.isdecimal():
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
