"""
A process that handles 500 requests a second under Walltime and says how long they took, window by window.

    python -m tests.safety.paced ENDPOINT WINDOWS STARTS_S → one JSON line

The clock of STARTS_S is the machine's, so that two processes go through the same windows at the same time.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import Final

import walltime

from tests.safety.loaded import WARM, application, logged, request, rss_bytes

RATE: Final = 500
WINDOW_S: Final = 2


def main() -> None:
    endpoint, windows, starts_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    lines = logged()
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # what else the machine does waits, where we may
    walltime.configure(endpoint=endpoint, service_name="paced", timeout_s=2)
    app = walltime.WSGIMiddleware(application)
    for _ in range(WARM):  # more than the queue holds
        request(app)
    before_bytes, most_bytes = rss_bytes(), 0
    wrong = 0
    p99_us: list[float] = []
    for window in range(windows):
        took_ns: list[int] = []
        for n in range(RATE * WINDOW_S):
            due_s = starts_s + window * WINDOW_S + n / RATE
            time.sleep(max(0.0, due_s - time.monotonic()))
            due_ns = round(due_s * 1e9)  # a request that had to wait for the one before has waited
            wrong += not request(app)
            took_ns.append(time.monotonic_ns() - due_ns)
        took_ns.sort()
        p99_us.append(took_ns[len(took_ns) * 99 // 100] / 1000)
        most_bytes = max(most_bytes, rss_bytes())
    said = {
        "p99_us": p99_us,
        "wrong": wrong,
        "grown_bytes": most_bytes - before_bytes,
        "log": lines,
        "counters": walltime.counters(),
    }
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
