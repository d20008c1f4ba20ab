"""Kinds that are as usual, then have a fault, then are as usual again, before the eyes of an IncidentWatch."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.health.counters import Health
from walltime_collector.health.incidents.watch import Event, IncidentWatch
from walltime_collector.query.incidents.looks import Thresholds

from tests.collector.simulated_shop import CACHE_1, SECOND_NS, USUAL, Page, simulate

LOOK_S = 30
FAULTS = {
    "restart": Page(hits_1=0.12),
    "dropped index": Page(statement_slowness=25),
    "slow upstream": Page(http_slowness=30),
    "deploy with N+1": Page(repeated=20),
    "nothing": USUAL,
}
EXPLAINED = {
    "restart": ("mysql.query: ", " at the usual speed", f"because memcache.get on {CACHE_1} hits "),
    "dropped index": ("mysql.query: each call takes ", "FROM reviews WHERE"),
    "slow upstream": ("http.request: each call takes ", "on 127.0.0.1:8000"),
    "deploy with N+1": ("mysql.query: ", "× the calls (2.", "FROM prices WHERE"),
}
_USUAL_MINUTES, _FAULT_S, _AFTER_S = 14, 150, 150
_PER_MINUTE = 240


class Sent(NamedTuple):
    """An event, and how many seconds after its fault began it was sent."""

    after_s: int
    event: Event


@dataclass
class Clock:
    """The watch's clock."""

    now_s: int

    def __call__(self) -> float:
        return float(self.now_s)


@dataclass
class Faulty:
    """All faults, each in so many kinds: named like the fault, with /0, /1, … behind it when there are several."""

    engine: EmbeddedEngine
    runs: int
    seed: int = 0
    sent: list[Sent] = field(default_factory=list)
    _start_s: int = 0

    def play(self) -> None:
        """Everything; the fault begins at another moment between two looks with each seed."""
        start_s = int(time.time()) // 60 * 60 - 4 * 3600
        usual_until_s = start_s + _USUAL_MINUTES * 60
        clock, fault_s = Clock(usual_until_s), usual_until_s + random.Random(self.seed).randrange(60, 60 + LOOK_S)
        self._start_s = start_s
        self._simulate(start_s, usual_until_s, dict.fromkeys(FAULTS, USUAL))

        def notify(events: Sequence[Event]) -> None:
            self.sent += [Sent(clock.now_s - fault_s, each) for each in events]

        watch = IncidentWatch(
            self.engine,
            Health(),
            Thresholds(),
            look_s=LOOK_S,
            notify=notify,
            collector="this",
            is_shared=False,
            clock=clock,
        )
        watch.look()
        over_s = fault_s + _FAULT_S
        while clock.now_s < over_s + _AFTER_S:
            until_s = clock.now_s + LOOK_S
            for first_s, last_s, pages in (
                (clock.now_s, min(until_s, fault_s), dict.fromkeys(FAULTS, USUAL)),
                (max(clock.now_s, fault_s), min(until_s, over_s), FAULTS),
                (max(clock.now_s, over_s), until_s, dict.fromkeys(FAULTS, USUAL)),
            ):
                self._simulate(first_s, last_s, pages)
            clock.now_s = until_s
            watch.look()

    def of(self, fault: str) -> list[Sent]:
        return [each for each in self.sent if each.event.incident.kind.name.partition("/")[0] == fault]

    def _simulate(self, start_s: int, end_s: int, pages: dict[str, Page]) -> None:
        for number, (fault, page) in enumerate(pages.items()):
            if start_s < end_s:
                simulate(
                    self.engine,
                    page,
                    seed=hash((self.seed, number, start_s - self._start_s)) % 2**32,
                    transactions=self.runs * _PER_MINUTE * (end_s - start_s) // 60,
                    from_ns=start_s * SECOND_NS,
                    length_ns=(end_s - start_s) * SECOND_NS,
                    name=fault,
                    kinds=self.runs,
                )
