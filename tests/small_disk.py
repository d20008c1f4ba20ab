"""A small disk in memory, to be filled."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(at: Path, size_bytes: int) -> Iterator[Path]:
    """A disk of this size; the test is skipped for a user who may not mount one."""
    at.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", at], capture_output=True, text=True, check=False
    )
    if mount.returncode:
        pytest.skip(f"only root can mount a disk: {mount.stderr.strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", at], check=True)


@contextmanager
def filled(disk: Path, left_bytes: int) -> Iterator[None]:
    """A file of another program that leaves only so much of the disk."""
    room = os.statvfs(disk)
    theirs = disk / "theirs"
    subprocess.run(["fallocate", "-l", str(room.f_bavail * room.f_frsize - left_bytes), theirs], check=True)
    try:
        yield
    finally:
        theirs.unlink()
