"""From nothing to the first bill: the pages of "Getting started", in new environments with the built wheels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packages.stopwatch import ENVIRONMENT, PAGES, measured
from tests.slowness import stretched

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]
LIMIT_S = 300


def test_each_framework_has_its_first_bill_within_five_minutes(tmp_path: Path) -> None:
    steps = measured(PAGES, tmp_path)
    assert set(steps) == {"celery", "django", "fastapi", "flask", "script"}
    for page, timed in steps.items():
        lines = [line for line, _ in timed]
        assert lines[0] == ENVIRONMENT
        assert lines[1].startswith("pip install walltime walltime-collector")
        assert lines[-1].startswith("walltime find"), page
        assert sum(seconds for _, seconds in timed) < max(LIMIT_S, stretched(LIMIT_S)), timed
