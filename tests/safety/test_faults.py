"""
A failure in any function of Walltime leaves the application's answers as they are, byte by byte, and is counted.

The bills stay true as well: nothing is counted twice, and only the calls that could not be described are missing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.safety import bills

ROOT = Path(__file__).parents[2]


def _lives(servers: dict[str, Any], **environment: str) -> dict[str, Any]:
    process = subprocess.run(
        [sys.executable, "-m", "tests.safety.fault_runner", json.dumps(servers)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)  # type: ignore[no-any-return]


def _troubles(lives: dict[str, Any], *, in_one_thread: bool = True) -> dict[str, str]:
    """What went wrong, by fault point; of bills of several threads only what is wrong in themselves."""
    troubles = {}
    whole = lives["whole"]["bills"]
    for point, outcome in lives["outcomes"].items():
        if "died" in outcome:
            troubles[point] = outcome["died"]
        elif outcome["escaped"]:
            troubles[point] = f"escaped: {outcome['escaped'][0]}"
        elif outcome["answers"] != lives["bare"]["answers"]:
            troubles[point] = f"another answer: {_difference(lives['bare']['answers'], outcome['answers'])}"
        elif not outcome["reached"].get(point):
            troubles[point] = "not reached"
        elif not outcome["contained"] and not point.startswith("walltime.errors:contain"):
            troubles[point] = "not counted"
        elif wrong := (
            bills.troubles(whole, outcome["bills"], outcome["contained"])
            if in_one_thread
            else bills.troubles_in_themselves(outcome["bills"])
        ):
            troubles[point] = f"another bill: {wrong[0]}"
        elif sum(" failed (" in line for line in outcome["log"]) > len(outcome["contained"]):
            troubles[point] = f"too much logged: {outcome['log']}"
    return troubles


def _difference(expected: str, got: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), min(len(expected), len(got)))
    return f"…{expected[max(0, at - 60) : at + 60]}… became …{got[max(0, at - 60) : at + 60]}…"


def check(servers: dict[str, Any], *, every: int) -> None:
    lives = _lives({**servers, "every": every})
    assert lives["whole"]["answers"] == lives["bare"]["answers"]
    assert lives["whole"]["contained"] == {}
    assert bills.troubles(lives["whole"]["bills"], lives["whole"]["bills"], {}) == []
    assert len(lives["whole"]["bills"]) > 10
    troubles = _troubles(lives)
    print(f"{len(lives['outcomes'])} fault points raised, {len(troubles)} got through")
    assert not troubles, "\n".join(f"{point}: {trouble}" for point, trouble in sorted(troubles.items()))
    assert len(lives["outcomes"]) >= 200 // every


def test_a_failure_of_ours_leaves_every_answer_as_it_is(servers: dict[str, Any]) -> None:
    check(servers, every=16)


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_a_failure_in_any_function_of_ours_leaves_every_answer_as_it_is(servers: dict[str, Any]) -> None:
    check(servers, every=1)


def test_under_test_a_failure_of_ours_is_raised(servers: dict[str, Any]) -> None:
    point = "walltime.core.transaction:Transaction.record"
    lives = _lives({**servers, "only": point}, WALLTIME_TESTING_RAISE="1")
    outcome = lives["outcomes"][point]
    assert outcome["answers"] != lives["bare"]["answers"]
    assert outcome["contained"]
