"""Starts, forks, re-configures, signals and stops at once: no thread hangs, no bill is lost or counted twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(folder: Path, first: int, rounds: int) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.safety.starts"]
    command += [str(folder), str(first), str(rounds)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "{}\n", "")


def test_starting_in_many_threads_at_once(tmp_path: Path) -> None:
    run(tmp_path, 0, 15)


@pytest.mark.nightly
def test_starting_a_thousand_times(tmp_path: Path) -> None:
    run(tmp_path, 100, 1000)


def test_configuring_twice_starts_no_thread_and_the_first_transaction_goes_on() -> None:
    program = """
import faulthandler, os, sys, walltime
faulthandler.dump_traceback_later(120, exit=True)
threads = os.listdir("/proc/self/task") if sys.platform == "linux" else []
for _ in range(3):
    walltime.configure(exporters="none")
assert not threads or os.listdir("/proc/self/task") == [*threads], "a thread before the first transaction"
with walltime.transaction("first"):
    pass
"""
    subprocess.run([sys.executable, "-c", program], check=True)
