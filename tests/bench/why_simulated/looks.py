"""
What is not about single pairs: false incidents in a simulated week, and the CPU of a look at many kinds.

    python -m tests.bench.why_simulated.looks [--kinds 50] [--looks 12] [--weeks 0]
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.health.counters import Health
from walltime_collector.health.incidents.watch import IncidentWatch
from walltime_collector.query.incidents.looks import Thresholds

from tests.bench.process_usage import usage
from tests.collector.health.incidents.faults import Clock
from tests.collector.health.incidents.weeks import DAY_S, KINDS, MINUTE_S, Chunks, false_incidents
from tests.servers import with_tables

BAR = 0.01
"""Of a core."""
_LOOK_S, _STORED_S = 30, 7200
_BEGINS_S = 1_793_577_600 + 9 * 3600
_DAYS_BEFORE, _DAYS = 2, 7


@dataclass(frozen=True)
class LookTook:
    """CPU seconds of a look, the mean of several, and of the first one after a start."""

    kinds: int
    collector_s: float
    database_s: float
    first_s: float

    @property
    def share(self) -> float:
        """Of a core."""
        return (self.collector_s + self.database_s) / _LOOK_S


def week(seed: int) -> list[str]:
    """The headlines of the incidents that are opened in a week of 50 kinds in which nothing happens."""
    with _engine() as engine:
        events = false_incidents(engine, seed, before_s=_DAYS_BEFORE * DAY_S, length_s=_DAYS * DAY_S)
        return [event.incident.headline for event in events]


def looks(kinds: int = KINDS, times: int = 12) -> LookTook:
    """Look at the kinds of the simulated week, every 30 s, with the sums of two hours stored."""
    with _engine() as engine:
        clock = Clock(_BEGINS_S)
        Chunks(engine, 1, clock, kinds).store(
            _BEGINS_S - _STORED_S, _STORED_S + (times + 2) * _LOOK_S // MINUTE_S * MINUTE_S
        )
        watch = IncidentWatch(
            engine,
            Health(),
            Thresholds(),
            look_s=_LOOK_S,
            notify=lambda _: None,
            collector="this",
            is_shared=False,
            clock=clock,
        )
        took = []
        for _ in range(times + 1):
            before = usage(os.getpid())
            watch.look()
            time.sleep(0.1)  # the engine ends what it does behind an answer
            after = usage(os.getpid())
            took.append((after.front_cpu_s - before.front_cpu_s, after.database_cpu_s - before.database_cpu_s))
            clock.now_s += _LOOK_S
    (first, *others) = took
    collector_s, database_s = (sum(each) / len(others) for each in zip(*others, strict=True))
    return LookTook(kinds, collector_s, database_s, sum(first))


@contextmanager
def _engine() -> Iterator[EmbeddedEngine]:
    with TemporaryDirectory(prefix="walltime-looks-") as folder:
        engine = EmbeddedEngine(with_tables(Path(folder) / "chdb"), "walltime")
        try:
            engine.migrate()
            yield engine
        finally:
            engine.close()


@click.command
@click.option("--kinds", type=click.IntRange(1), default=KINDS)
@click.option("--looks", "times", type=click.IntRange(1), default=12)
@click.option("--weeks", type=click.IntRange(0), default=0, help="Also so many weeks in which nothing happens.")
def main(kinds: int, times: int, weeks: int) -> None:
    """Measure looks for incidents."""
    took = looks(kinds, times)
    print(
        f"{took.kinds} kinds: {took.collector_s:.4f} s of CPU of the collector and {took.database_s:.4f} s of the"
        f" database a look, {took.share:.2%} of a core (target: {BAR:.0%}); the first look {took.first_s:.2f} s"
    )
    for seed in range(1, weeks + 1):
        opened = week(seed)
        print(f"week {seed}: {len(opened)} incidents", *opened, sep="\n    ")


if __name__ == "__main__":
    main()
