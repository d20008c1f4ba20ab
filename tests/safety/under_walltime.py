"""
A pytest plugin for other people's suites: Walltime is on, and each test is a transaction.

    WALLTIME_SAID=FILE pytest -p tests.safety.under_walltime …
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest
import walltime


def pytest_configure() -> None:
    walltime.configure(sample_probability=1.0, max_queue=1_000_000)
    walltime.instrument()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    with walltime.transaction(item.nodeid):
        return (yield)


def pytest_unconfigure() -> None:
    walltime.flush(30)
    Path(os.environ["WALLTIME_SAID"]).write_text(json.dumps(walltime.counters()), encoding="utf-8")
