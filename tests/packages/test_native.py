"""`walltime-native` is built from its source distribution, and without a compiler it is empty instead of an error."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import walltime

ROOT = Path(__file__).parents[2]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy, where the build may leave what it makes."""
    shutil.copytree(ROOT / "sdk", tmp_path / "sdk", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    return tmp_path / "sdk" / "native"


def files_of_wheel(source: Path, *options: str, **environ: str) -> tuple[str, set[str]]:
    dist = source.parent / "dist"
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), *options, str(source)]
    done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = dist.glob("*.whl")
    return wheel.name, {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_the_wheel_comes_from_the_source_distribution_and_has_the_extension_alone(source: Path) -> None:
    name, files = files_of_wheel(source)
    assert name.startswith(f"walltime_native-{walltime.__version__}-cp3")
    assert [file.split(".")[0] for file in files] == ["walltime_native"]


def test_without_a_compiler_the_installation_succeeds_and_is_empty(source: Path) -> None:
    _, files = files_of_wheel(source, "--wheel", CC="/bin/false")
    assert files == set()
