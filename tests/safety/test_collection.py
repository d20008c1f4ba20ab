"""Garbage that is due for collection while the sampler reads frames: its destructors let other threads run."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from walltime.sampling import frames

SCRIPT = """
import gc, inspect, sys, time
import walltime
from walltime.sampling import frames, sampler

sampler.MAX_CPU_SHARE = 1.0
gc.set_threshold(90)  # less than the frames of one stack
if sys.argv[1] == "collecting":
    frames.COLLECTS_IN_FRAMES = False

reads = frames._read.__code__
lines, first = inspect.getsourcelines(frames._read)
at = {first + n for n, line in enumerate(lines) if "return read(argument)" in line or "found = next(" in line}
assert len(at) == 2
in_the_sampler = 0

class Garbage:
    def __init__(self):
        self.itself = self

    def __del__(self):
        global in_the_sampler
        around = sys._getframe(1)
        if around.f_code is reads and around.f_lineno in at:
            in_the_sampler += 1
            time.sleep(0)  # lets the computing thread run on

def computes(depth):
    if depth:
        return computes(depth - 1)
    total = 0
    for each in range(300):
        total += each

def computes_with_more_variables(depth):
    a, b, c, d, e, f, g = range(7)
    if depth:
        return computes_with_more_variables(depth - 1)
    total = 0
    for each in range(300):
        total += each

walltime.configure(service_name="test", endpoint="http://127.0.0.1:9")
ends_s = time.monotonic() + float(sys.argv[2])
while time.monotonic() < ends_s and walltime.counters().get("samples", 0) < 50:
    with walltime.transaction("work"):
        for _ in range(50):
            for _ in range(10):
                Garbage()
            computes(80), computes_with_more_variables(50), computes(10), computes_with_more_variables(100)
assert gc.isenabled()
print(walltime.counters().get("samples", 0), in_the_sampler)
"""


def run(collecting: str, seconds: float) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SCRIPT, collecting, str(seconds)]
    variables = os.environ | {"WALLTIME_SAMPLE_HZ": "1000"}
    return subprocess.run(command, check=False, env=variables, capture_output=True, text=True, timeout=60)


def test_no_destructor_runs_while_the_sampler_reads_frames() -> None:
    ran = run("as it is", 30)
    assert not ran.returncode, ran.stderr
    samples, in_the_sampler = map(int, ran.stdout.split())
    assert samples
    assert not in_the_sampler


@pytest.mark.skipif(not frames.COLLECTS_IN_FRAMES, reason="this Python collects between instructions only")
def test_destructors_run_there_when_no_room_is_made() -> None:
    """Shows that the test above can fail. Now and then Python crashes."""
    ran = run("collecting", 2)
    assert ran.returncode < 0 or int(ran.stdout.split()[1])
