"""The history of the collectors' counters, in steps of a minute or more."""

from __future__ import annotations

import json

from walltime_collector.clickhouse.engine import Engine
from walltime_collector.health.history import Step, history
from walltime_collector.query.windows import Window

BEGAN_S = 1_790_000_040
"""A full minute."""


def minute(at: int, collector: str, **counters: float) -> bytes:
    empty = dict.fromkeys(("received", "stored", "rejected", "dead", "lost", "refused", "spooled", "spool_bytes"), 0)
    row = {**empty, "minute": BEGAN_S + 60 * at, "collector": collector, "spool_oldest_s": 0.0, **counters}
    return json.dumps(row).encode() + b"\n"


def test_steps_are_sums_over_minutes_and_collectors_and_of_what_waits_the_most(engine: Engine) -> None:
    rows = [
        minute(0, "a", received=10, stored=8, spool_bytes=200, spool_oldest_s=1.5),
        minute(0, "b", received=5, stored=5, lost=1, refused=3, spool_bytes=30, spool_oldest_s=0.5),
        minute(2, "a", received=1, stored=3, dead=2, rejected=4, spool_bytes=70, spool_oldest_s=2.5),
        minute(3, "a", received=100),
    ]
    engine.insert_rows("walltime_health", b"".join(rows), "minutes")
    start_ns = BEGAN_S * 1_000_000_000

    each = history(engine, Window(start_ns + 30 * 1_000_000_000, start_ns + 180 * 1_000_000_000))
    assert each.step_s == 60
    assert each.steps == (
        Step(BEGAN_S, 15, 13, 0, 0, 1, 3, 230, 1.5),
        Step(BEGAN_S + 120, 1, 3, 4, 2, 0, 0, 70, 2.5),
    )
    (whole,) = history(engine, Window(start_ns, start_ns + 7 * 86_400_000_000_000)).steps
    assert (whole.received, whole.stored, whole.spool_bytes, whole.oldest_s) == (116, 16, 230, 2.5)
