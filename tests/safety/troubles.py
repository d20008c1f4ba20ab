"""The differences between a run with a fault of ours and one without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.safety import bills

ROOT = Path(__file__).parents[2]
_BY_CHANCE = ("walltime.sampling", "walltime.instrumentation.timed:waited")
"""What the sampler meets, and whether taking a connection from a pool lasts so long that it was a wait."""


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
            if not point.startswith(_BY_CHANCE):
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
