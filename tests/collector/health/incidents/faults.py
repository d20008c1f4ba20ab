"""Kinds that are as usual, then have a fault, then are as usual again, before the eyes of an IncidentWatch."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
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
    "errors": Page(failures=0.2),
    "nothing": USUAL,
}
EXPLAINED = {
    "restart": ("mysql.query: ", " at the usual speed", f"because memcache.get on {CACHE_1} hits "),
    "dropped index": ("mysql.query: each call takes ", "FROM reviews WHERE"),
    "slow upstream": ("http.request: each call takes ", "on 127.0.0.1:8000"),
    "deploy with N+1": ("mysql.query: ", "× the calls (2.", "FROM prices WHERE"),
    "errors": (" % → ", " % fail"),
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
    """
    All faults, each in so many kinds: named like the fault, with /0, /1, … behind it when there are several.

    Args:
        fault_s: So long each fault lasts.
        after_s: So long everything is as usual afterwards.
        times: So often.
    """

    engine: EmbeddedEngine
    runs: int = 1
    seed: int = 0
    faults: Mapping[str, Page] = field(default_factory=lambda: FAULTS)
    fault_s: int = _FAULT_S
    after_s: int = _AFTER_S
    times: int = 1
    sent: list[Sent] = field(default_factory=list)
    clock: Clock = field(default_factory=lambda: Clock(0))
    _fault_began_s: int = 0

    def play(self) -> None:
        """Everything, before the eyes of one watch."""
        watch = self.watch()
        for _ in self.steps():
            watch.look()

    def watch(self, collector: str = "this", *, is_shared: bool = False) -> IncidentWatch:
        """A new watch; its events are added to `sent`."""

        def notify(events: Sequence[Event]) -> None:
            self.sent += [Sent(self.clock.now_s - self._fault_began_s, each) for each in events]

        return IncidentWatch(
            self.engine,
            Health(),
            Thresholds(),
            look_s=LOOK_S,
            notify=notify,
            collector=collector,
            is_shared=is_shared,
            clock=self.clock,
        )

    def steps(self) -> Iterator[int]:
        """
        Store what happens until the next look, and yield the time then.

        The fault begins at another moment between two looks with each seed.
        """
        start_s = int(time.time()) // 60 * 60 - 4 * 3600
        self.clock.now_s = usual_until_s = start_s + _USUAL_MINUTES * 60
        usual, delay_s = dict.fromkeys(self.faults, USUAL), random.Random(self.seed).randrange(60, 60 + LOOK_S)
        self._simulate(start_s, start_s, usual_until_s, usual)
        yield self.clock.now_s
        for _ in range(self.times):
            fault_s = self._fault_began_s = self.clock.now_s + delay_s
            over_s = fault_s + self.fault_s
            while self.clock.now_s < over_s + self.after_s:
                now_s, until_s = self.clock.now_s, self.clock.now_s + LOOK_S
                self._simulate(start_s, now_s, min(until_s, fault_s), usual)
                self._simulate(start_s, max(now_s, fault_s), min(until_s, over_s), self.faults)
                self._simulate(start_s, max(now_s, over_s), until_s, usual)
                self.clock.now_s = until_s
                yield until_s

    def of(self, fault: str) -> list[Sent]:
        return [each for each in self.sent if each.event.incident.kind.name.partition("/")[0] == fault]

    def _simulate(self, began_s: int, start_s: int, end_s: int, pages: Mapping[str, Page]) -> None:
        for number, (fault, page) in enumerate(pages.items()):
            if start_s < end_s:
                simulate(
                    self.engine,
                    page,
                    seed=hash((self.seed, number, start_s - began_s)) % 2**32,
                    transactions=self.runs * _PER_MINUTE * (end_s - start_s) // 60,
                    from_ns=start_s * SECOND_NS,
                    length_ns=(end_s - start_s) * SECOND_NS,
                    name=fault,
                    kinds=self.runs,
                )
