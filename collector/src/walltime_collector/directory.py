"""Directories of the collector's data: readable by their owner alone, and owned by one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from .errors import DirectoryInUse, SettingsRefused


def make_private(directory: Path) -> None:
    """
    Create the directory and its parents with mode 0700; an existing one keeps its mode.

    Raises:
        SettingsRefused: It cannot be made.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsRefused(
            f"{directory}: cannot make this directory: {error.strerror}; choose another one with --data"
        ) from error


def fsync_directory(directory: Path) -> None:
    """Make the directory's entries (created, renamed, removed files) survive a power cut."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Ownership:
    """
    The right of one process to a directory, as a lock on its file `lock` that ends with the process.

    Raises:
        DirectoryInUse: Another process has it.
    """

    def __init__(self, directory: Path) -> None:
        make_private(directory)
        path = directory / "lock"
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.read(self._handle, 20).decode("ascii", "replace").strip()
            os.close(self._handle)
            raise DirectoryInUse(
                f"{directory}: another collector (process {owner or 'unknown'}) owns it; "
                "stop that one, or give this one a directory of its own with --data"
            ) from error
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another process have it; again is harmless."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
