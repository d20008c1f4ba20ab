"""Runs lock_program, and compares what the collector stored of its waits with what happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from shop.services import MariaDB

from tests.collector.observe.unreachable import rows
from tests.servers import Collector, eventually
from tests.slowness import stretched

Told: TypeAlias = Mapping[str, Sequence[dict[str, Any]]]
SCENARIOS = ("idle", "inserted", "working", "chain", "metadata", "table")
WAITS = """
SELECT
    lower(hex(trace_id)), lower(hex(holder_trace_id)), waited_ns / 1e9, sort, object, index_name, key,
    holder_idle_ns / 1e9, holder_running, statement, holder_statement, is_over, is_rolled_back
FROM lock_waits FINAL ORDER BY started_at
"""


def happened(
    collector: Collector, database: MariaDB, scenario: str, turns: int, **environment: str
) -> Sequence[dict[str, Any]]:
    """Run the application; what it knows of each wait."""
    environment["HOLD_S"] = str(stretched(0.5))  # the looks of a collector that gets little CPU are seconds apart
    environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.otlp_url.removesuffix("/v1/traces")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.collector.observe.lock_program",
            scenario,
            str(turns),
            json.dumps(database.account()),
        ],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def waits_of(collector: Collector, told: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """The rows of these waits, as soon as all are stored to their end."""
    traces = {each["waiter"] for each in told}

    def found() -> list[list[Any]]:
        return [row for row in rows(collector, WAITS) if row[0] in traces]

    def missing() -> set[str]:
        return traces - {row[0] for row in found() if row[11] and (told[0]["took_s"] or row[3] == "deadlock")}

    with suppress(AssertionError):
        eventually(lambda: not missing(), 20)
    assert not missing(), ([each for each in told if each["waiter"] in missing()], found(), rows(collector, WAITS))
    return found()


def check(collector: Collector, told: Sequence[dict[str, Any]]) -> list[list[Any]]:
    found = waits_of(collector, told)
    assert {(row[0], row[1]) for row in found} == {(each["waiter"], each["holder"]) for each in told}
    assert len(found) == len(told)
    took_s = {each["waiter"]: each["took_s"] for each in told}
    for row in found:
        # the statement did nothing but wait; its connection is closed behind it, so the end is between two looks
        assert abs(took_s[row[0]] - row[2]) < stretched(0.3), row
    return found


def deadlocks(collector: Collector, told: Sequence[dict[str, Any]]) -> None:
    found = [row for row in waits_of(collector, told) if row[3] == "deadlock"]  # the first one waited before
    assert sorted((row[0], row[1]) for row in found) == sorted((each["waiter"], each["holder"]) for each in told)
    assert {(row[3], row[4], row[5]) for row in found} == {("deadlock", "shop.stock", "PRIMARY")}
    assert {row[6] for row in found} == {"1", "2"}
    assert [row[12] for row in found].count(True) == len(told) / 2
    assert all(row[9] == row[10] == "UPDATE stock SET n = ?, sort = sort WHERE id = ? AND sort <> ?" for row in found)
    events = rows(collector, "SELECT what, details['traces'] FROM server_events FINAL WHERE event = 'deadlock'")
    traces = {frozenset(str(each).split()) for _, each in events}
    assert {frozenset((each["waiter"], each["holder"])) for each in told} <= traces
    assert any("POST /move/1" in str(what) and "(rolled back)" in str(what) for what, _ in events)
