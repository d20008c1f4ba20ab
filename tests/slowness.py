"""Limits of time that hold on a busy machine as well."""

from __future__ import annotations

import subprocess
import sys
import time

_COUNTS = "import time; began = time.process_time()\nwhile time.process_time() - began < 0.1: pass"


def stretched(limit_s: float) -> float:
    """The limit, times how much longer than its CPU time a process takes now: 1 on a machine that is idle."""
    began_s = time.monotonic()
    subprocess.run([sys.executable, "-I", "-S", "-c", _COUNTS], check=True)
    return limit_s * max(1.0, (time.monotonic() - began_s) / 0.12)
