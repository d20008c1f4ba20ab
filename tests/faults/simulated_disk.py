"""A disk in memory that loses power, or whose n-th call fails: unsynced data is dropped, torn or reordered."""

from __future__ import annotations

import errno
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from walltime_collector.spool.disk import Disk

Part = bytes | memoryview


class PowerCut(BaseException):
    """The machine is off. Not an Exception, because no code runs that could handle it."""


@dataclass
class File:
    """`content` is what a program reads; `synced` and some of `pending` are what a power cut leaves."""

    content: bytes = b""
    synced: bytes = b""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Writes as (where, what); a truncation as (size, None)."""
    is_distrusted: bool = False
    """An fsync failed: the kernel may have dropped what it could not write, and the next fsync succeeds."""


@dataclass
class Fault:
    """What the `at`-th call does instead of its work: an errno, "short" (a write takes half), or "cut"."""

    at: int
    what: int | str


class SimulatedDisk(Disk):
    """Renames are atomic; their order and survival are as loose as a file system may be."""

    def __init__(self, fault: Fault | None = None) -> None:
        self.names: dict[Path, File] = {}
        self.synced_names: dict[Path, File] = {}
        self.pending_names: list[tuple[Path | None, Path | None, File]] = []
        """(old, new, file): created when there is no old name, removed when there is no new one."""
        self.fault = fault
        self.calls = 0
        self.handles: dict[int, File] = {}

    def create(self, path: Path) -> int:
        self._call("create")
        if path in self.names:
            raise FileExistsError(errno.EEXIST, "File exists", str(path))
        file = File()
        self._name(None, path, file)
        handle = 1000 + len(self.handles)
        self.handles[handle] = file
        return handle

    def write(self, handle: int, parts: Sequence[Part]) -> int:
        data = b"".join(parts)
        file = self.handles[handle]
        assert not file.is_distrusted, "written to after a failed fsync"
        try:
            if self._call("write") == "short":
                data = data[: max(1, len(data) // 2)]
        except PowerCut:
            file.pending.append((len(file.content), data))
            raise
        except OSError:  # a part may be written nevertheless
            self._write(file, data[: len(data) // 2])
            raise
        self._write(file, data)
        return len(data)

    def sync(self, handle: int) -> None:
        file = self.handles[handle]
        try:
            self._call("sync")
        except OSError:
            file.is_distrusted = True
            file.pending.clear()
            raise
        if file.is_distrusted:  # "succeeds" without the dropped data
            return
        file.synced = file.content
        file.pending.clear()

    def truncate(self, handle: int, size_bytes: int) -> None:
        self._call("truncate")
        file = self.handles[handle]
        file.content = file.content[:size_bytes]
        file.pending.append((size_bytes, None))

    def close(self, handle: int) -> None:
        self._call("close")

    def read(self, path: Path, at: int, size_bytes: int) -> bytes:
        self._call("read")
        return self._file(path).content[at : at + size_bytes]

    def rename(self, old: Path, new: Path) -> None:
        self._call("rename")
        self._name(old, new, self._file(old))

    def remove(self, path: Path) -> None:
        self._call("remove")
        if path in self.names:
            self._name(path, None, self.names[path])

    def files(self, directory: Path) -> list[tuple[Path, int]]:
        self._call("files")
        return sorted((path, len(file.content)) for path, file in self.names.items() if path.parent == directory)

    def sync_directory(self, directory: Path) -> None:
        self._call("sync_directory")
        for old, new, file in [each for each in self.pending_names if _touches(each, directory)]:
            _rename(self.synced_names, old, new, file)
        self.pending_names = [each for each in self.pending_names if not _touches(each, directory)]

    def room(self, directory: Path) -> tuple[int, int]:
        self._call("room")
        return 2**40, 2**41

    def after_power_cut(self, chance: random.Random) -> SimulatedDisk:
        """One of the states that the disk may have when the power is back."""
        after = SimulatedDisk()
        names = dict(self.synced_names)
        for old, new, file in _some(self.pending_names, chance):
            _rename(names, old, new, file)
        for path, file in names.items():
            content = _survived(file, chance)
            after.names[path] = File(content, content)
        after.synced_names = dict(after.names)
        return after

    def _call(self, verb: str) -> str:
        self.calls += 1
        if self.fault is None or self.calls != self.fault.at:
            return ""
        what = self.fault.what
        if what == "cut":
            raise PowerCut
        if isinstance(what, int):
            raise OSError(what, f"injected by the test in {verb}")
        return what

    def _file(self, path: Path) -> File:
        if path not in self.names:
            raise FileNotFoundError(errno.ENOENT, "No such file", str(path))
        return self.names[path]

    def _name(self, old: Path | None, new: Path | None, file: File) -> None:
        _rename(self.names, old, new, file)
        self.pending_names.append((old, new, file))

    @staticmethod
    def _write(file: File, data: bytes) -> None:
        file.pending.append((len(file.content), data))
        file.content += data


def _rename(names: dict[Path, File], old: Path | None, new: Path | None, file: File) -> None:
    if old is not None:
        names.pop(old, None)
    if new is not None:
        names[new] = file


def _touches(change: tuple[Path | None, Path | None, File], directory: Path) -> bool:
    return any(path is not None and path.parent == directory for path in change[:2])


def _some(
    changes: list[tuple[Path | None, Path | None, File]], chance: random.Random
) -> list[tuple[Path | None, Path | None, File]]:
    """As a journal keeps them, the first so many; or, as a file system without one might, any of them."""
    if chance.random() < 0.5:
        return changes[: chance.randint(0, len(changes))]
    return [each for each in changes if chance.random() < 0.5]


def _survived(file: File, chance: random.Random) -> bytes:
    """What was synced, and of what was written since: nothing, all, or some, the last of it torn; zeros in the gaps."""
    kind = chance.random()
    kept = (
        file.pending if kind < 0.2 else [] if kind < 0.4 else [each for each in file.pending if chance.random() < 0.5]
    )
    content = bytearray(file.synced)
    for number, (at, data) in enumerate(kept):
        if data is None:
            del content[at:]
            continue
        is_torn = kind > 0.3 and number == len(kept) - 1
        written = data[: chance.randint(0, len(data))] if is_torn else data
        content.extend(bytes(max(0, at - len(content))))
        content[at : at + len(written)] = written
        if is_torn and chance.random() < 0.5:  # its pages go to the disk in any order, and its length first
            hole = at + chance.randint(0, len(written))
            content[hole : hole + 64] = bytes(len(content[hole : hole + 64]))
    return bytes(content)
