"""The few verbs of a file system that the spool needs; a test puts a disk behind them that fails or loses its power."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from .directory import fsync_directory, room


class Disk(Protocol):
    """
    Verbs raise OSError. What is not synced may be gone after a power cut: `sync` is for a file's bytes, and
    `sync_directory` for which names there are.
    """

    def create(self, path: Path) -> int:
        """Open a new file for appending, readable by its owner alone; FileExistsError when there is one."""

    def write(self, handle: int, parts: Sequence[bytes | memoryview]) -> int:
        """Append; may stop short, and returns how many bytes were taken. At most MOST_PARTS parts."""

    def sync(self, handle: int) -> None:
        """The file's bytes and its length survive a power cut. After an error they may be gone for good."""

    def truncate(self, handle: int, size_bytes: int) -> None:
        """Cut the file."""

    def close(self, handle: int) -> None:
        """Let go of the file."""

    def read(self, path: Path, at: int, size_bytes: int) -> bytes:
        """Bytes of a file; fewer where it ends."""

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name; a file that has it is replaced."""

    def remove(self, path: Path) -> None:
        """Remove a file; one that is not there is no error."""

    def files(self, directory: Path) -> list[tuple[Path, int]]:
        """The regular files in a directory with their sizes in bytes, by name."""

    def sync_directory(self, directory: Path) -> None:
        """The directory's names survive a power cut."""

    def room(self, directory: Path) -> tuple[int, int]:
        """Bytes that are free for us on the directory's disk, and bytes it has."""


MOST_PARTS = 1024
"""Linux' IOV_MAX."""


class LocalDisk:
    """The machine's own; the hot verbs are os functions themselves."""

    write = staticmethod(os.writev)
    sync = staticmethod(os.fdatasync)
    truncate = staticmethod(os.ftruncate)
    close = staticmethod(os.close)
    rename = staticmethod(os.replace)
    sync_directory = staticmethod(fsync_directory)

    def create(self, path: Path) -> int:
        """See Disk."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def read(self, path: Path, at: int, size_bytes: int) -> bytes:
        """See Disk. Never waits: a pipe that somebody put there has no end."""
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            content = os.pread(handle, size_bytes, at)
            if len(content) in (size_bytes, 0):
                return content
            parts = [content]
            while content := os.pread(handle, size_bytes - sum(map(len, parts)), at + sum(map(len, parts))):
                parts.append(content)
            return b"".join(parts)
        finally:
            os.close(handle)

    def remove(self, path: Path) -> None:
        """See Disk."""
        path.unlink(missing_ok=True)

    def files(self, directory: Path) -> list[tuple[Path, int]]:
        """See Disk."""
        with os.scandir(directory) as entries:
            found = [(Path(entry.path), entry.stat(follow_symlinks=False)) for entry in entries]
        return sorted((path, each.st_size) for path, each in found if stat.S_ISREG(each.st_mode))

    def room(self, directory: Path) -> tuple[int, int]:
        """See Disk."""
        return room(directory)


def write_all(disk: Disk, handle: int, parts: Sequence[bytes | memoryview]) -> None:
    """Append all of it."""
    for first in range(0, len(parts), MOST_PARTS):
        some = parts[first : first + MOST_PARTS]
        left = sum(map(len, some)) - disk.write(handle, some)
        if left:  # short: a full disk, a signal
            content = memoryview(b"".join(some))
            while left:
                left -= disk.write(handle, [content[len(content) - left :]])


def write_whole(disk: Disk, path: Path, parts: Sequence[bytes | memoryview]) -> None:
    """Write a file durably: complete under its name, or not there."""
    temporary = path.with_name(path.name + ".new")
    disk.remove(temporary)
    handle = disk.create(temporary)
    try:
        write_all(disk, handle, parts)
        disk.sync(handle)
    except OSError:
        disk.remove(temporary)
        raise
    finally:
        disk.close(handle)
    disk.rename(temporary, path)
    disk.sync_directory(path.parent)
