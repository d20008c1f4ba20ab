"""Days of many kinds in which nothing happens that lasts, before the eyes of an IncidentWatch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.engine import Engine, Parameters, Rows
from walltime_collector.health.counters import Health
from walltime_collector.health.incidents.watch import Event, IncidentWatch
from walltime_collector.query.incidents.looks import Thresholds
from walltime_collector.query.queries import query_text, run

from tests.collector.health.incidents.faults import Clock

KINDS = 50
_MONDAY_S = 1_793_577_600
"""2 November 2026: the random numbers are hashes of the time, so every run has the same ones."""
MINUTE_S, CHUNK_S, DAY_S = 60, 6 * 3600, 86_400
_COLUMNS = {"kinds": ("steps", 0), "servers": ("servers", 2)}
"""The column of a query that has the sums of all steps, and where in each of them the step is."""
_TRANSACTIONS = Path(__file__).with_name("simulated_week.sql").read_text("utf-8")
_MOST_A_MINUTE = 60.0
"""Twice as many transactions a minute has the busiest kind."""


class Chunks:
    """
    An engine that stores hours in advance, and shows the watch only the minutes that are over.

    The two queries of a look are run once for each chunk of time: a week has 10,080 looks.
    """

    def __init__(self, engine: EmbeddedEngine, seed: int, clock: Clock, kinds: int = KINDS) -> None:
        self._engine, self._seed, self._clock, self._kinds = engine, seed, clock, kinds
        self._queries = {query_text(f"incidents/{name}"): name for name in ("kinds", "servers")}
        self._minutes: dict[str, dict[int, list[tuple[str, str, Any]]]] = {
            name: defaultdict(list) for name in self._queries.values()
        }
        engine.command("SYSTEM STOP MERGES")  # the parts are read once

    def store(self, start_s: int, length_s: int = CHUNK_S) -> None:
        params = {"seed": self._seed, "kinds": self._kinds, "start_s": start_s, "minutes": length_s // MINUTE_S}
        self._engine.command(_TRANSACTIONS, {**params, "most": _MOST_A_MINUTE})
        for name, minutes in self._minutes.items():
            times = {"start_s": start_s, "end_s": start_s + length_s}
            column, step = _COLUMNS[name]
            for row in run(self._engine, f"incidents/{name}", **times):
                for sums in row[column]:
                    minutes[int(sums[step])].append((row["service"], row["name"], sums))

    def query(self, sql: str, parameters: Parameters | None = None) -> Rows:
        name, params = self._queries.get(sql), cast(dict[str, Any], parameters or {})
        if name is None:
            return self._engine.query(sql, params)
        over = range(params["start_s"], min(params["end_s"], self._clock.now_s), MINUTE_S)
        kinds: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for minute in over:
            for service, kind, sums in self._minutes[name].get(minute, ()):
                kinds[service, kind].append(sums)
        return [{"service": kind[0], "name": kind[1], _COLUMNS[name][0]: sums} for kind, sums in kinds.items()]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def false_incidents(engine: EmbeddedEngine, seed: int, *, before_s: int, length_s: int) -> Iterator[Event]:
    """The incidents that are opened in so long a time, looking every minute; `before_s` is only stored."""
    start_s = _MONDAY_S
    clock, events = Clock(start_s + before_s), list[Event]()
    chunks = Chunks(engine, seed, clock)
    for at_s in range(start_s, start_s + before_s, CHUNK_S):
        chunks.store(at_s, min(CHUNK_S, start_s + before_s - at_s))
    watch = IncidentWatch(
        cast(Engine, chunks),
        Health(),
        Thresholds(),
        look_s=MINUTE_S,
        notify=events.extend,
        collector="this",
        is_shared=False,
        clock=clock,
    )
    for at_s in range(clock.now_s, clock.now_s + length_s, MINUTE_S):
        if (at_s - start_s - before_s) % CHUNK_S == 0:
            chunks.store(at_s, min(CHUNK_S, start_s + before_s + length_s - at_s))
        clock.now_s = at_s
        watch.look()
    yield from (event for event in events if event.what == "opened")
