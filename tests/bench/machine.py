"""Where the numbers come from: machine, versions, how much else was going on; and a core for the measured process."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Final

DISTRIBUTIONS: Final = (
    "walltime", "PyMySQL", "pymemcache", "requests", "urllib3", "opentelemetry-sdk",
    "opentelemetry-exporter-otlp-proto-http", "opentelemetry-instrumentation-pymysql",
    "opentelemetry-instrumentation-pymemcache", "opentelemetry-instrumentation-requests",
    "opentelemetry-instrumentation-wsgi",
)  # fmt: skip


def machine() -> dict[str, str | int]:
    """Processor, cores, system and interpreter."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def versions() -> dict[str, str]:
    """Of everything that is measured."""
    return {name: version(name) for name in DISTRIBUTIONS}


def pin(pid: int, core: int) -> None:
    """Let a process run on one core only, by its number among those we may use; 0 is ourselves. Linux only."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(_allowed)
        os.sched_setaffinity(pid, {cores[core % len(cores)]})


class ForeignLoad:
    """How many cores other programs kept busy since it was made; None where /proc does not tell."""

    def __init__(self) -> None:
        self._started_s = time.monotonic()
        self._before_s = _foreign_s()

    def cores(self) -> float | None:
        """Read it after the own child processes have ended: until then theirs counts as foreign."""
        now_s = _foreign_s()
        if now_s is None or self._before_s is None:
            return None
        return max(0.0, (now_s - self._before_s) / (time.monotonic() - self._started_s))


def _foreign_s() -> float | None:
    try:
        user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    except OSError:
        return None
    own = os.times()
    busy_s = (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
    return busy_s - (own.user + own.system + own.children_user + own.children_system)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


_allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
