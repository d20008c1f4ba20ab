"""Kinds of a request a second that are as usual for a while and then do something, before an IncidentWatch."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.health.counters import Health
from walltime_collector.health.incidents.watch import Event, IncidentWatch
from walltime_collector.query.incidents.looks import Thresholds

from tests.collector.health.incidents.faults import Clock

LOOK_S = 30
USUAL_S = 20 * 60
_MS = 1_000_000
_CACHE, _DATABASE = "10.0.0.11:11211", "10.0.0.5:3306"


@dataclass(frozen=True)
class Did:
    """What a request did."""

    ms: float = 20.0
    queries: int = 2
    missed: int = 0
    lookups: int = 4
    fails: bool = False
    user: str = ""


@dataclass(frozen=True)
class Story:
    """
    What the requests of a second do, of this many seconds after the usual time, which has negative ones.

    Args:
        days: So many earlier days have the same hour, with one request of 60 s in it when `is_stalled_daily`.
    """

    at: Callable[[int], Sequence[Did]]
    days: int = 0
    is_stalled_daily: bool = False


@dataclass
class Told:
    """All stories, each in a kind of its name."""

    engine: EmbeddedEngine
    stories: Mapping[str, Story]
    looks: int = 6
    events: list[tuple[int, Event]] = field(default_factory=list)
    clock: Clock = field(default_factory=lambda: Clock(0))
    _rng: random.Random = field(default_factory=lambda: random.Random(1))
    _stored: int = 0

    def tell(self) -> None:
        start_s = self.start_s = int(time.time()) // 60 * 60 - 3 * 3600
        watch = IncidentWatch(
            self.engine,
            Health(),
            Thresholds(),
            look_s=LOOK_S,
            notify=lambda events: self.events.extend((self.clock.now_s - start_s, each) for each in events),
            collector="this",
            is_shared=False,
            clock=self.clock,
        )
        for day in (1, 2, 3):
            self._store(day * 86_400, -600, 900, earlier_day=day)
        self._store(0, -USUAL_S, 0)
        self.clock.now_s = start_s
        watch.look()
        for look in range(self.looks):
            self._store(0, look * LOOK_S, (look + 1) * LOOK_S)
            self.clock.now_s = start_s + (look + 1) * LOOK_S
            watch.look()

    def opened(self, name: str) -> list[int]:
        """How many seconds after the usual time."""
        return [at_s for at_s, each in self.events if each.what == "opened" and each.incident.kind.name == name]

    def _store(self, ago_s: int, from_s: int, until_s: int, *, earlier_day: int = 0) -> None:
        rows = [
            self._row(name, self.start_s - ago_s + at_s, did)
            for name, story in self.stories.items()
            if story.days >= earlier_day
            for at_s in range(from_s, until_s)
            for did in self._of_second(story, at_s, earlier_day)
        ]
        self._stored += 1
        if rows:
            self.engine.insert_rows("transactions", "\n".join(rows).encode(), f"told {self._stored}")

    def _of_second(self, story: Story, at_s: int, earlier_day: int) -> Iterator[Did]:
        if not earlier_day:
            yield from story.at(at_s)
            return
        yield from story.at(-1)
        if story.is_stalled_daily and at_s == 120:
            yield Did(ms=60_000)

    def _row(self, name: str, at_s: int, did: Did) -> str:
        row: dict[str, Any] = {
            "trace_id": f"{self._rng.getrandbits(60):016x}",
            "span_id": f"{self._rng.getrandbits(32):08x}",
            "started_at": f"{at_s}.{self._rng.randrange(10**9):09d}",
            "duration_ns": round(did.ms * self._rng.lognormvariate(-0.03, 0.25) * _MS),
            "covered_ns": round(did.ms * 0.7 * _MS),
            "service": "shop",
            "name": name,
            "user": did.user,
            "is_error": did.fails,
            "http_status": 500 if did.fails else 200,
            "mysql_query_calls": did.queries,
            "mysql_query_time_ns": round(did.ms * 0.6 * _MS),
            "memcache_get_calls": did.lookups,
            "memcache_get_time_ns": round(did.ms * 0.1 * _MS),
            "memcache_get_hits": did.lookups - did.missed,
            "memcache_get_misses": did.missed,
            "target.component": ["mysql.query", "memcache.get"],
            "target.address": [_DATABASE, _CACHE],
            "target.calls": [did.queries, did.lookups],
            "target.time_ns": [round(did.ms * 0.6 * _MS), round(did.ms * 0.1 * _MS)],
            "target.errors": [0, 0],
            "target.hits": [0, did.lookups - did.missed],
            "target.misses": [0, did.missed],
        }
        return json.dumps(row)


def then(did: Did, *, every: int = 1, more: Sequence[Did] = (), usual: Did | None = None) -> Callable[[int], list[Did]]:
    """
    One usual request a second; then each `every`-th of them does `did`, and there are `more` beside them.

    The user of a usual request is one of 50.
    """

    def at(second: int) -> list[Did]:
        usual_now = replace(usual or Did(), user=f"user {second % 50}")
        if second < 0:
            return [usual_now]
        changed = replace(did, user=did.user or usual_now.user)
        return [changed if second % every == 0 else usual_now, *more]

    return at
