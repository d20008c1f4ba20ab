"""Programs in other languages: what they need, and a run of one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "languages"


def run(*command: str, folder: Path, timeout_s: float = 900, **variables: str) -> str:
    """The output of the command; when the command fails, the test fails with it."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def prepare(tool: str, name: str, into: Path) -> Path:
    """A copy of the program to build in; skips when its tool is not on this machine."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not on this machine; install it to run {PROGRAMS / name}")
    return Path(shutil.copytree(PROGRAMS / name, into / name))
