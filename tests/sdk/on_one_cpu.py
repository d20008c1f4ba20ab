"""A program on one CPU, beside processes that compute there all the time."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import indent

from tests.sdk.sink import Sink

_BEFORE = """
import os, sys, time
import walltime

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
others = []
for _ in range(int(sys.argv[1])):
    pid = os.fork()
    if not pid:
        while os.getppid() != 1:
            pass
        os._exit(0)
    others.append(pid)
try:
"""
_AFTER = """
finally:
    for pid in others:
        os.kill(pid, 9)
"""


def run_on_one_cpu(work: str, others: int, sink: Sink, **more: str) -> None:
    """
    Run a Python program, which has imported `time` and `walltime`, until its end.

    Args:
        others: so many processes compute on its CPU.
        sink: where its transactions go.
        more: environment variables.
    """
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint, **more}
    program = _BEFORE + indent(work, "    ") + _AFTER
    subprocess.run([sys.executable, "-c", program, str(others)], check=True, env=environment, timeout=60)
