"""Limits of time that hold on a busy machine as well."""

from __future__ import annotations

import subprocess
import sys
import time

HANGS_AFTER_S = 240
"""Whoever does nothing that waits has hung after so long, however busy the machine is."""

_COUNTS = "import time; began = time.process_time()\nwhile time.process_time() - began < 0.1: pass"


def stretched(limit_s: float) -> float:
    """The limit, times how much longer than its CPU time a process takes now: 1 on a machine that is idle."""
    began_s = time.monotonic()
    subprocess.run([sys.executable, "-I", "-S", "-c", _COUNTS], check=True)
    return limit_s * max(1.0, (time.monotonic() - began_s) / 0.12)


def ended_within(limit_s: float, process: subprocess.Popen[bytes]) -> int:
    """The exit status; TimeoutExpired where it is not over after the limit, which is `stretched` then."""
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return process.wait(max(stretched(limit_s) for _ in range(3)) - limit_s)
