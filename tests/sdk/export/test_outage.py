"""What the SDK's log says when the collector is back, and at the exit of a program without a transaction."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from functools import partial

import pytest
import walltime
from walltime import errors
from walltime.export.outage import Outage
from walltime.runtime import exporter

from tests.sdk.sink import Sink
from tests.servers import eventually


def has_lost(count: int) -> bool:
    return walltime.counters()["lost_unreachable"] == count and not exporter()._queue


def job() -> None:
    with walltime.transaction("job"):
        pass


def test_a_collector_that_is_back_is_one_line_with_what_was_lost(sink: Sink, caplog: pytest.LogCaptureFixture) -> None:
    sink.status = 503
    walltime.configure(endpoint=sink.endpoint, export_delay_s=0.02, max_pending_bytes=1)
    for lost in range(3):
        job()
        eventually(partial(has_lost, lost))
    assert [message for message in caplog.messages if "is back" in message] == []
    sink.status = 200
    eventually(lambda: any("is back" in message for message in caplog.messages))
    (line,) = [message for message in caplog.messages if "is back" in message]
    assert re.fullmatch(
        rf"walltime: the collector at {re.escape(sink.endpoint)} is back after \d+ s, away since "
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\. 2 transactions were lost meanwhile \(2 unreachable\); "
        r"0 more wait and are sent now",
        line,
    )
    assert walltime.counters()["sent"] == 1


def test_a_collector_that_comes_and_goes_is_a_line_a_minute_and_no_loss_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counts = {"sent": 0, "lost_unreachable": 7, "lost_queue_full": 0}
    outage = Outage("http://c", counts)
    for _ in range(3):
        outage.begin()
        counts["lost_unreachable"] += 2
        outage.begin()
        counts["lost_queue_full"] += 1
        outage.end(5)
        outage.end(5)
    errors._logged_at_s.clear()  # a minute later
    outage.begin()
    outage.end(0)
    lines = [re.sub(r".*UTC\. ", "", message) for message in caplog.messages]
    assert lines == [
        "3 transactions were lost meanwhile (2 unreachable, 1 queue full); 5 more wait and are sent now",
        "6 transactions were lost meanwhile (4 unreachable, 2 queue full); 0 more wait and are sent now",
    ]


def test_a_short_outage_without_a_loss_is_no_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = time.monotonic()
    monkeypatch.setattr("walltime.export.outage.time.monotonic", lambda: now_s)
    outage = Outage("http://c", {"lost_unreachable": 7})
    outage.begin()
    outage.end(1)
    assert caplog.messages == []
    outage.begin()
    now_s += 30
    outage.end(0)
    (line,) = caplog.messages
    assert "is back after 30 s" in line
    assert line.endswith("Nothing was lost; 0 more wait and are sent now")


CALLS = """
import urllib.request
import walltime
walltime.instrument()
def call(): urllib.request.urlopen(urllib.request.Request({url!r}, data=b"")).close()
"""


@pytest.mark.parametrize(
    ("program", "environ", "is_told"),
    [
        ("call()", {}, True),
        ("walltime.configure()\ncall()", {}, True),
        ("walltime.configure(enabled=False)\ncall()", {}, False),
        ("call()", {"OTEL_SDK_DISABLED": "true"}, False),
        ("call()\nwith walltime.transaction('job'): call()", {}, False),
        ("pass", {}, False),
        ("import os\ncall()\npid = os.fork()\nif pid: os.waitpid(pid, 0)", {}, False),
    ],
)
def test_a_script_without_a_transaction_is_told_at_its_exit(
    program: str, environ: dict[str, str], is_told: bool, sink: Sink
) -> None:
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint, **environ}
    command = [sys.executable, "-c", CALLS.format(url=sink.endpoint) + program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    said = (
        "walltime: 2 calls were made outside of any transaction, so they are on no bill; put the program's work into "
        "`with walltime.transaction(name):` (docs/processes.md)\n"
    )
    assert done.stderr == (said if is_told else "")
