"""What applications use: few names, all of them typed, every parameter documented."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import walltime

from tests.docstrings import documented_parameters

APPLICATION = """
import walltime
from walltime import logs

settings: walltime.Settings = walltime.configure(service_name="shop", sample_probability=0.05, propagate_to=["*.shop"])
names: list[str] = walltime.instrument("pymysql", "pymemcache")


@walltime.transaction("nightly import", kind="consumer")
def run(rows: list[int]) -> int:
    with walltime.component("render"):
        return len(rows)


async def later() -> str:
    with walltime.transaction("later") as running:
        running.set_name("GET /product/{id}")
        running.annotate("cart.items", 3)
        running.keep()
    return walltime.current().request_id


count: int = run([1, 2])
line: str = walltime.summary()
lost: dict[str, int] = walltime.counters()
is_sent: bool = walltime.flush(timeout_s=1.5)
walltime.uninstrument()
walltime.shutdown()
event = logs.add_request(None, "info", {"event": "sold"})
"""
MISUSE = """
import walltime

walltime.configure(sample_rate=0.1)
walltime.configure(max_queue="many")
walltime.current().set_user(17)
walltime.instrument(pymysql=True)
"""


def test_there_are_at_most_twenty_public_names_and_all_exist() -> None:
    assert len(walltime.__all__) <= 20
    assert sorted(walltime.__all__) == walltime.__all__
    for name in walltime.__all__:
        assert getattr(walltime, name) is not None


def test_every_public_function_and_method_is_documented() -> None:
    for name in walltime.__all__:
        public = getattr(walltime, name)
        assert inspect.ismodule(public) or isinstance(public, str) or inspect.getdoc(public), name
    for name, method in inspect.getmembers(walltime.CurrentTransaction):
        assert name.startswith("_") or inspect.getdoc(method), name


def test_configure_has_a_documented_parameter_for_every_setting() -> None:
    assert list(inspect.signature(walltime.configure).parameters) == [each.name for each in fields(walltime.Settings)]
    assert list(documented_parameters(walltime.configure)) == [each.name for each in fields(walltime.Settings)]


@pytest.mark.parametrize(
    "checker",
    [["mypy", "--strict"], ["basedpyright", "--level", "error", "--pythonpath", sys.executable]],
    ids=["mypy", "pyright"],
)
def test_an_application_is_checked_against_our_types(checker: list[str], tmp_path: Path) -> None:
    """In a project of its own, so by `py.typed`."""
    (tmp_path / "pyproject.toml").write_text('[tool.basedpyright]\ntypeCheckingMode = "strict"\n')
    (tmp_path / "application.py").write_text(APPLICATION)
    (tmp_path / "misuse.py").write_text(MISUSE)
    command = [sys.executable, "-m", *checker]
    good = subprocess.run([*command, "application.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert good.returncode == 0, good.stdout + good.stderr
    bad = subprocess.run([*command, "misuse.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    wrong_lines = {int(line) for line in re.findall(r"misuse\.py:(\d+)", bad.stdout)}
    assert wrong_lines == {4, 5, 6, 7}, bad.stdout
