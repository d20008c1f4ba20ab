"""A failure in any function that serves a framework leaves its answers as they are, and is counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.safety.troubles import ROOT, _troubles
from tests.sdk.sink import Sink


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_a_failure_in_any_function_that_serves_leaves_every_frameworks_answers_as_they_are(sink: Sink) -> None:
    only = [
        "walltime.servers.",
        "walltime.components.",
        "walltime.instrumentation.outermost",
        "walltime.core.components",
    ]
    asked = {"endpoint": sink.endpoint, "only": only, "every": 1}
    ran = subprocess.run(
        [sys.executable, "-m", "tests.safety.framework_runner", json.dumps(asked)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    lives = json.loads(ran.stdout)
    assert lives["whole"]["answers"] == lives["bare"]["answers"]
    assert lives["whole"]["contained"] == {}
    assert lives["whole"]["counts"]["sent"] >= 30
    troubles = _troubles(lives, in_one_thread=False)
    print(f"{len(lives['outcomes'])} fault points raised, {len(troubles)} got through")
    assert not troubles, "\n".join(f"{point}: {trouble}" for point, trouble in sorted(troubles.items()))
    assert len(lives["outcomes"]) >= 75
