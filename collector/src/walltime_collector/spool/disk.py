"""The file operations that the spool needs; tests replace them with a disk that fails or loses power."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from .directory import room, sync_directory

MAX_PARTS = 1024
"""Linux' IOV_MAX."""


class Disk:
    """
    The machine's own disk. Methods raise OSError.

    A power cut may undo what is not synced: `sync` is for a file's bytes, `sync_directory` for names in a directory.
    """

    def create(self, path: Path) -> int:
        """Open a new file for appending, readable by its owner alone; FileExistsError when there is one."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def write(self, handle: int, parts: Sequence[bytes | memoryview]) -> int:
        """Append at most MAX_PARTS parts; return how many bytes were written, which may be fewer than all."""
        return os.writev(handle, parts)

    def sync(self, handle: int) -> None:
        """Make the file's bytes and its length survive a power cut. After an error they may be lost."""
        os.fdatasync(handle)

    def truncate(self, handle: int, size_bytes: int) -> None:
        os.ftruncate(handle, size_bytes)

    def close(self, handle: int) -> None:
        os.close(handle)

    def read(self, path: Path, at: int, size_bytes: int) -> bytes:
        """Bytes of a file; fewer at its end."""
        # not blocking: a pipe in the directory must not stop the collector
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            parts = []
            while size_bytes and (part := os.pread(handle, size_bytes, at)):
                parts.append(part)
                at, size_bytes = at + len(part), size_bytes - len(part)
            return b"".join(parts)  # of one part: that part itself
        finally:
            os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        """Rename a file; a file of the new name is replaced."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file; do nothing if it does not exist."""
        path.unlink(missing_ok=True)

    def files(self, directory: Path) -> list[tuple[Path, int]]:
        """The regular files in a directory with their sizes in bytes, by name."""
        with os.scandir(directory) as entries:
            stats = [(Path(entry.path), entry.stat(follow_symlinks=False)) for entry in entries]
        return sorted((path, each.st_size) for path, each in stats if stat.S_ISREG(each.st_mode))

    def sync_directory(self, directory: Path) -> None:
        """Make the directory's names survive a power cut."""
        sync_directory(directory)

    def room(self, directory: Path) -> tuple[int, int]:
        """Free bytes of the directory's disk, and all its bytes."""
        return room(directory)


def write_all(disk: Disk, handle: int, parts: Sequence[bytes | memoryview]) -> None:
    """Append all the parts."""
    for first in range(0, len(parts), MAX_PARTS):
        some = parts[first : first + MAX_PARTS]
        left = sum(map(len, some)) - disk.write(handle, some)
        if left:  # fewer than all: a full disk, a signal
            content = memoryview(b"".join(some))
            while left:
                left -= disk.write(handle, [content[len(content) - left :]])


def write_whole(disk: Disk, path: Path, parts: Sequence[bytes | memoryview]) -> None:
    """Write a file durably: it exists complete, or not at all."""
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
