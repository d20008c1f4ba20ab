"""Rule of the contract: no global state of the application's interpreter changes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sdk.run_program import RUN, environment
from tests.sdk.sink import Sink

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("way", ["configured", "instrument", "walltime-run"])
def test_the_interpreter_is_after_a_thousand_transactions_as_it_was_before(sink: Sink, way: str) -> None:
    start = [RUN, sys.executable] if way == "walltime-run" else [sys.executable]
    ran = subprocess.run(
        [*start, "-m", "tests.safety.host_state", way],
        cwd=ROOT,
        env=environment(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=sink.endpoint),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {}
    assert len(sink.transactions()) == 1000
