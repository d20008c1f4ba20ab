"""
The memory of the engine's process: a limit of its own, and its end when it keeps too much.

ClickHouse's limit of a statement does not count what some functions allocate (printf with a width of 2,000,000,000).
Beyond this limit an allocation fails, and with it that statement.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

ENVIRONMENT = {"JE_MALLOC_CONF": "retain:false"}
"""Of the process: its allocator gives address space back, so that the limit counts what is in use."""

_LEAST_BYTES = 1024**3
_MOST_BYTES = 3 * 1024**3
_SHARE = 0.75
_LARGE_SHARE = 2 / 3
_CHECK_S = 1.0
_STAYS_S, _STAYS_BUSY_S = 30.0, 300.0
_LIMITS_OF_CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def limit_memory() -> None:
    """
    Limit this process to three quarters of the memory of the machine or container, at least 1 GiB and at most 3 GiB.

    The least is what one full segment and readers take; beyond the machine's memory, the kernel ends the process.
    """
    machine_bytes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for file in _LIMITS_OF_CONTAINERS:
        try:
            machine_bytes.append(int(Path(file).read_text()))
        except (OSError, ValueError):  # not there, or `max`
            continue
    bytes_ = min(_MOST_BYTES, max(_LEAST_BYTES, int(_SHARE * min(machine_bytes))))
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (bytes_ if hard == resource.RLIM_INFINITY else min(bytes_, hard), hard))


def wait_until_large(release: Callable[[], object], active: Callable[[], int]) -> None:
    """
    Return when this process keeps more than two thirds of its limit, although it was told to give memory back.

    Args:
        release: Gives unused memory back; called every second while the process is large.
        active: How many requests run: while there are any, this waits for ten times as long.
    """
    large_since_s: float | None = None
    while True:
        time.sleep(_CHECK_S)
        if not _is_large():
            large_since_s = None
            continue
        release()
        now_s = time.monotonic()
        large_since_s = now_s if large_since_s is None else large_since_s
        if _is_large() and now_s - large_since_s >= (_STAYS_BUSY_S if active() else _STAYS_S):
            return


def _is_large() -> bool:
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return soft != resource.RLIM_INFINITY and _data_bytes() > _LARGE_SHARE * soft


def _data_bytes() -> int:
    """What counts for RLIMIT_DATA; 0 where the system does not tell."""
    try:
        fields = Path("/proc/self/status").read_text().partition("VmData:")[2].split(maxsplit=1)
    except OSError:
        return 0
    return 1024 * int(fields[0]) if fields else 0
