"""Both packages in bare environments of every supported Python: they install, start and show a bill."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import walltime

from tests.packages.interpreters import VERSIONS, Bare, bare

ROOT = Path(__file__).parents[2]
FIRST_BILL = Path(__file__).with_name("first_bill.py")
BIN = Path(sys.executable).parent
CLOSURE = """
import importlib.metadata as metadata, re
from pip._vendor.packaging.requirements import Requirement
open, seen = ["walltime"], set()
while open:
    name = re.sub("[-_.]+", "-", open.pop()).lower()
    if name not in seen:
        seen.add(name)
        needed = map(Requirement, metadata.requires(name) or [])
        open += [each.name for each in needed if not each.marker or each.marker.evaluate({"extra": ""})]
installed = {re.sub("[-_.]+", "-", each.metadata["Name"]).lower() for each in metadata.distributions()}
direct = {Requirement(each).name for each in metadata.requires("walltime")}
print(sorted(direct), sorted(installed - seen))
"""
"""Prints what walltime names, and what is installed that neither walltime nor any of those needs."""

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("dist")
    for package in ("sdk", "collector"):
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT / package)]
        subprocess.run(command, check=True, capture_output=True)
    return sorted(folder.glob("*.whl"))


@contextlib.contextmanager
def environment(version: str, folder: Path) -> Iterator[Bare]:
    made = bare(version, folder)
    yield made
    if made.root != Path("/"):
        subprocess.run(["rm", "-rf", made.root], check=True)  # 400 MB


@pytest.mark.parametrize("version", VERSIONS)
def test_both_wheels_install_and_show_the_first_bill(version: str, wheels: list[Path], tmp_path: Path) -> None:
    sdk, collector = wheels
    with environment(version, tmp_path) as made:
        assert made.run("python", "--version").startswith(f"Python {version}.")
        pip = ("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore")
        made.run(*pip, made.place(sdk), timeout_s=600)
        extra = made.run("python", "-c", CLOSURE).strip()
        assert re.fullmatch(r"\['opentelemetry-api', 'opentelemetry-sdk'\] \['pip'(, 'setuptools')?\]", extra), extra
        made.run(*pip, made.place(collector), timeout_s=600)
        assert made.run("python", "-m", "pip", "check") == "No broken requirements found.\n"
        for command in ("walltime", "walltime-run"):
            assert made.run(command, "--version") == f"walltime {walltime.__version__}\n"
        (kind,) = json.loads(made.run("python", made.place(FIRST_BILL)).splitlines()[-1])
        assert (kind["service"], kind["count"]) == ("first", 3)


def test_uvx_runs_the_collector_from_its_wheel(wheels: list[Path]) -> None:
    free = [part for port in ("grpc", "http", "web") for part in (f"--{port}", "127.0.0.1:0")]
    source = ("--find-links", str(wheels[1].parent), "--from", "walltime-collector")
    command = [str(BIN / "uvx"), *source, "walltime", "serve", "--data", str(wheels[1].parent / "data"), *free]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as collector:
        try:
            assert collector.stdout is not None
            ready = dict(each.split("=", 1) for each in collector.stdout.readline().split()[1:])
            assert httpx.get(f"http://{ready['web']}/healthz", timeout=30).json()["ok"] is True
        finally:
            collector.terminate()
