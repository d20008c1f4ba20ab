"""S3: forks under load. No child hangs, nothing is sent twice, what a child does first arrives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sdk.sink import Sink

ROOT = Path(__file__).parents[2]


def check(sink: Sink, forks: int) -> None:
    command = [
        sys.executable,
        "-W",
        "ignore::DeprecationWarning",
        "-m",
        "tests.safety.forks",
        sink.endpoint,
        str(forks),
    ]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (process.returncode, process.stderr) == (0, "")
    said = json.loads(process.stdout)
    spans = sink.transactions()
    names = [span.span.name for span in spans]
    ids = {(span.span.trace_id, span.span.span_id) for span in spans}
    print(
        f"{forks} forks beside {said['worked']} transactions of 8 threads: {len(said['bad'])} hung or failed, "
        f"{len(spans) - len(ids)} doubled, {names.count('parent')} of {said['worked']} of the parent arrived"
    )
    assert said["bad"] == []
    assert said["flushed"]
    assert sorted(name for name in names if name != "parent") == sorted(f"child {n}" for n in range(forks))
    assert names.count("parent") == said["worked"] == said["counters"]["sent"]
    assert len(ids) == len(spans)


def test_thirty_forks_under_load(sink: Sink) -> None:
    check(sink, 30)


@pytest.mark.nightly
def test_a_thousand_forks_under_load(sink: Sink) -> None:
    check(sink, 1000)
