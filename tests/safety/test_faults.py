"""
A failure in any function of Walltime leaves the application's answers as they are, byte by byte, and is counted.

The bills stay true as well: nothing is counted twice, and only the calls that could not be described are missing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.safety import bills
from tests.safety.troubles import ROOT, _troubles


def _lives(servers: dict[str, Any], **environment: str) -> dict[str, Any]:
    process = subprocess.run(
        [sys.executable, "-m", "tests.safety.fault_runner", json.dumps(servers)],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "WALLTIME_SAMPLE_HZ": "500",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)  # type: ignore[no-any-return]


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
    check(servers, every=128)


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_a_failure_in_any_function_of_ours_leaves_every_answer_as_it_is(servers: dict[str, Any]) -> None:
    check(servers, every=1)


def test_under_test_a_failure_of_ours_is_raised(servers: dict[str, Any]) -> None:
    point = "walltime.core.transaction:Transaction.record"
    # The core in C does not come to this function.
    lives = _lives({**servers, "only": point}, WALLTIME_TESTING_RAISE="1", WALLTIME_NATIVE="0")
    outcome = lives["outcomes"][point]
    assert outcome["answers"] != lives["bare"]["answers"]
    assert outcome["contained"]
