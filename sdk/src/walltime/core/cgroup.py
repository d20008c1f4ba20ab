"""CPU throttling: how long the kernel stopped this process's cgroup because its CPU quota was used up."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter_ns as clock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

FRESH_NS: Final = 10_000_000
"""A reading is used again for so long. A period of a quota is 100 ms."""
MOUNTS: Final = {1: ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"), 2: ("/sys/fs/cgroup",)}
"""By the version of cgroups."""


class Throttled:
    """The throttled time of the innermost cgroup of this process that has a CPU quota, 0 without one."""

    def __init__(self, proc: str = "/proc/self/cgroup") -> None:
        """The quota is looked for once: one that is set later is not noticed."""
        self._file = next(_with_quota(proc), None)
        self.has_quota = self._file is not None
        self._read_ns = 0
        self._at_ns = -FRESH_NS

    def recent_ns(self) -> int:
        """Return a reading that is at most FRESH_NS old."""
        return self._read_ns if clock() - self._at_ns < FRESH_NS else self.now_ns()

    def now_ns(self) -> int:
        """Read the file; 10 µs."""
        if self._file is not None:
            self._at_ns = clock()
            numbers = dict(line.split() for line in self._file.read_text().splitlines())
            in_us = numbers.get("throttled_usec")  # version 1 has throttled_time, in nanoseconds
            self._read_ns = int(numbers["throttled_time"]) if in_us is None else int(in_us) * 1000
        return self._read_ns


def _with_quota(proc: str) -> Iterator[Path]:
    """Yield `cpu.stat` of each cgroup around this process that has a quota, the innermost first."""
    try:
        memberships = Path(proc).read_text().splitlines()
    except OSError:  # no Linux
        return
    for membership in memberships:
        _, controllers, path = membership.split(":", 2)
        version = 2 if not controllers else 1 if "cpu" in controllers.split(",") else 0
        for mount in MOUNTS.get(version, ()):
            folder = Path(os.path.normpath(mount + path))
            for each in (folder, *folder.parents):
                if each.is_relative_to(mount) and _has_quota(each):
                    yield each / "cpu.stat"


def _has_quota(folder: Path) -> bool:
    for file, unlimited in (("cpu.max", "max"), ("cpu.cfs_quota_us", "-1")):
        try:
            return (folder / file).read_text().split()[0] != unlimited
        except (OSError, IndexError):
            continue
    return False
