"""What a collector's processes use: the one that receives, and those it started (the engine). Linux only."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Usage:
    """CPU since the start, user and system; the largest memory so far."""

    front_cpu_s: float
    database_cpu_s: float
    front_rss_bytes: int
    database_rss_bytes: int
    is_apart: bool
    """Whether the engine has a process of its own; otherwise everything is under `front`."""

    @property
    def cpu_s(self) -> float:
        return self.front_cpu_s + self.database_cpu_s

    @property
    def rss_bytes(self) -> int:
        """Of all processes together; they need not have been largest at the same moment."""
        return self.front_rss_bytes + self.database_rss_bytes


def usage(pid: int, *databases: int) -> Usage:
    """Of this process, and as its database of all that descend from it and still run, or from these."""
    children = [each for root in (pid, *databases) for each in descendants(root)] + list(databases)
    return Usage(
        front_cpu_s=_cpu_s(pid),
        database_cpu_s=sum(map(_cpu_s, children)),
        front_rss_bytes=_largest_rss_bytes(pid),
        database_rss_bytes=sum(map(_largest_rss_bytes, children)),
        is_apart=any(_cpu_s(child) > 0.05 for child in children),
    )


def descendants(pid: int) -> list[int]:
    """Of this process, those that run."""
    found = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, tasks.read_text().split()):
            found += [child, *descendants(child)]
    return found


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _largest_rss_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)
