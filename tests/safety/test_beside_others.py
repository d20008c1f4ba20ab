"""S10: beside sentry-sdk, ddtrace and OpenTelemetry, in either order: both record, and either can go."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import walltime
from pymysql.connections import Connection

from tests.by_day import by_day
from tests.sdk.sink import Sink

ROOT = Path(__file__).parents[2]
OURS = {"mysql.connect": 1, "mysql.query": 1, "memcache.set": 1, "memcache.get": 1, "http.request": 1}
THEIRS = {
    "opentelemetry": {"SELECT mysql", "get memcached", "set memcached", "GET"},
    "sentry": {"http.client"},
    "ddtrace": {"pymysql.query", "memcached.command", "requests.request"},
}


@pytest.mark.parametrize("first", by_day(["ours", "theirs"], 2))
@pytest.mark.parametrize("other", ["opentelemetry", "ddtrace", pytest.param("sentry", marks=pytest.mark.nightly)])
def test_both_record_and_either_can_go(other: str, first: str, servers: dict[str, Any], sink: Sink) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "tests.safety.beside", json.dumps(servers), other, first],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "WALLTIME_TESTING_RAISE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    said = json.loads(process.stdout)
    bills = [span for span in sink.transactions() if span.span.name == "ours"]
    for step, bill in zip(said["steps"], bills, strict=True):
        calls = {component: bill.cell(component).get("calls", 0) for component in OURS}
        print(f"{other}, {first} first, {step['step']}: ours {calls}, theirs {step['theirs']}")
        assert step["told"] == said["steps"][0]["told"]
        if not step["step"].startswith("theirs off"):
            assert THEIRS[other] <= set(step["theirs"])
        if step["step"] != "ours off":
            assert calls == OURS


def test_instrumenting_again_under_somebody_elses_wrapper_wraps_once(
    recorded: Sink, connect: Callable[[], Connection[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = Connection.query

    @functools.wraps(ours)
    def theirs(self: Connection[Any], *args: Any, **kwargs: Any) -> Any:
        return ours(self, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(Connection, "query", theirs)
        for _ in range(200):
            walltime.uninstrument("pymysql")
            walltime.instrument("pymysql")
        with walltime.transaction("job"):
            connect().query("SELECT 1")
    assert Connection.query is ours
    walltime.uninstrument("pymysql")
    assert Connection.query is not ours
    assert recorded.transaction().cell("mysql.query") == {"calls": 1, "rows": 1}
