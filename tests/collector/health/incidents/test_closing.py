"""An incident ends whatever becomes of its kind, of its collector and of the clock, and what went away is forgotten."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.health.counters import Health
from walltime_collector.health.incidents.current import Current
from walltime_collector.health.incidents.watch import Event, IncidentWatch
from walltime_collector.query.incidents.answer import Change, Incident
from walltime_collector.query.incidents.history import TIME
from walltime_collector.query.incidents.looks import KindName, Looks, Thresholds
from walltime_collector.query.incidents.stored import incidents
from walltime_collector.query.windows import Window
from walltime_collector.spool.segment import Record

from tests.collector.health.incidents.faults import Clock
from tests.collector.health.incidents.stored import slower, store
from tests.collector.traffic import MS, Sent, export_request
from tests.servers import with_tables

LOOK_S = 60
_EVER = Window(0, 4_000_000_000 * 10**9)


class Slowed:
    """Kinds that become slow and then are as usual again, each with one transaction in so many seconds, 0: none."""

    def __init__(self, folder: Path, gaps_s: dict[str, int]) -> None:
        self.engine = EmbeddedEngine(with_tables(folder), "walltime")
        self.engine.migrate()
        self.gaps_s, self.clock, self.events = gaps_s, Clock(int(time.time()) // 60 * 60 - 6 * 3600), list[Event]()
        self._stored = 0
        self.watch = self.restarted()
        self.send(-1200, 2, 20)
        self.watch.look()
        while not self.events:
            self.look(2, 100)
        assert {each.incident.kind.name for each in self.events} == set(gaps_s)

    def restarted(self) -> IncidentWatch:
        return IncidentWatch(
            self.engine,
            Health(),
            Thresholds(),
            look_s=LOOK_S,
            notify=self.events.extend,
            collector="this",
            is_shared=False,
            clock=self.clock,
        )

    def look(self, gap_s: int | None, duration_ms: int) -> None:
        """Look after what happened in LOOK_S; without a gap, the kinds' own."""
        self.clock.now_s += LOOK_S
        self.send(-LOOK_S, gap_s, duration_ms)
        self.watch.look()

    def send(self, from_s: int, gap_s: int | None, duration_ms: int) -> None:
        now_s = self.clock.now_s
        sent = [
            Sent(f"{self._stored:08x}{at_s:08x}".ljust(32, "1"), f"{at_s:016x}", name, at_s * 10**9, duration_ms * MS)
            for name, own_gap_s in self.gaps_s.items()
            for at_s in range(now_s + from_s, now_s)
            if (gap := own_gap_s if gap_s is None else gap_s) and at_s % gap == 0
        ]
        if sent:
            self._stored += 1
            self.engine.insert([Record(time.time_ns(), len(sent), export_request(sent))], f"{now_s}-{self._stored}")

    def stored(self) -> dict[str, Incident]:
        return {each.name: each for each in incidents(self.engine, _EVER).incidents}

    def endings(self) -> dict[str, str]:
        return {name: each.ended_because for name, each in self.stored().items()}


@pytest.fixture
def slowed(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Slowed]:
    slowed = Slowed(tmp_path, request.param)
    yield slowed
    slowed.engine.close()


KIND = KindName("shop", "GET /slow")


class Few:
    """The looks at an incident that is open, of a kind that has a transaction in so many seconds; without an engine."""

    def __init__(self, gap_s: int) -> None:
        self.looks, self.gap_s, self.now_s = Looks(Thresholds(), LOOK_S), gap_s, 36_000
        self.sums: dict[int, tuple[int, int]] = {}
        steps = [(at_s, 120, 0, 120 * 20 * MS, 20.0 * MS) for at_s in range(self.now_s - 1800, self.now_s, 120)]
        self.looks.seed([{"service": "shop", "name": "GET /slow", "steps": steps}], [], 120, {})
        self.looks.look(self.now_s, [], [])
        self.looks.watched(KIND).is_open = True
        self.incident = Current(KIND, self.now_s, self.now_s, self.now_s, seen_s=self.now_s)
        self.incident.changes = {TIME: Change("time", "", "", 20.0 * MS, 100.0 * MS, 100.0 * MS)}

    def look(self, times: int, duration_ms: int) -> str:
        """Look so often, and return why it has ended."""
        for _ in range(times):
            for at_s in range(self.now_s, self.now_s + LOOK_S):
                if at_s % self.gap_s == 0:
                    count, time_ns = self.sums.get(at_s // 60 * 60, (0, 0))
                    self.sums[at_s // 60 * 60] = count + 1, time_ns + duration_ms * MS
            self.now_s += LOOK_S
            steps = [
                (minute_s, count, 0, time_ns, time_ns / count)
                for minute_s, (count, time_ns) in self.sums.items()
                if minute_s >= self.now_s - 120
            ]
            rows = [{"service": "shop", "name": "GET /slow", "steps": steps}] if steps else []
            windows = self.looks.look(self.now_s, rows, [])
            self.looks.judge(windows)
            self.incident.look(self.now_s, windows.get(KIND), self.looks)
            if self.incident.ended_because:
                break
        return self.incident.ended_because


@pytest.mark.parametrize("gap_s", [6, 30, 60, 100, 180, 600, 840])
def test_an_incident_of_few_transactions_closes_when_the_last_ten_are_as_usual(gap_s: int) -> None:
    few = Few(gap_s)
    assert few.look(40, 100) == ""
    slow_until_s = few.now_s
    assert few.look(1_000, 20) == "over"
    assert few.now_s - slow_until_s <= max(16 * gap_s, 900)


def test_few_slow_transactions_keep_an_incident_open_for_a_day() -> None:
    few = Few(240)
    assert few.look(2_000, 100) == "lasting"
    assert few.now_s - few.incident.started_s == 86_400
    assert Few(60_000).look(2_000, 100) == "silent"


@pytest.mark.parametrize("slowed", [{"GET /slow": 2}], indirect=True)
@pytest.mark.parametrize("is_restarted", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_a_long_pause_of_the_collector_is_not_silence_of_the_kind(slowed: Slowed, is_restarted: bool) -> None:
    slowed.clock.now_s += 3600
    if is_restarted:
        slowed.watch = slowed.restarted()
    for _ in range(2):
        slowed.look(2, 100)
        assert slowed.endings() == {"GET /slow": ""}
    for _ in range(5):
        slowed.look(2, 20)
    assert slowed.endings() == {"GET /slow": "over"}


@pytest.mark.nightly
@pytest.mark.parametrize("slowed", [{"GET /slow": 2, "GET /gone": 0}], indirect=True)
@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_clock_that_was_ahead_keeps_no_incident_open(slowed: Slowed, is_restarted: bool) -> None:
    slowed.clock.now_s -= 7200
    if is_restarted:
        slowed.watch = slowed.restarted()
    for _ in range(20):
        slowed.look(None, 20)
    assert slowed.endings() == {"GET /slow": "over", "GET /gone": "silent"}


@pytest.mark.nightly
@pytest.mark.parametrize("slowed", [{"GET /slow": 2}], indirect=True)
def test_a_second_open_incident_of_a_kind_is_closed_too(slowed: Slowed) -> None:
    """Two collectors that looked at the same time opened it at different moments."""
    other = slower("GET /slow", ago_s=int(time.time()) - slowed.clock.now_s + 30)
    other.changes = {TIME: Change("time", "", "", 20.0 * MS, 100.0 * MS, 100.0 * MS)}
    store(slowed.engine, other)
    slowed.watch = slowed.restarted()
    for _ in range(6):
        slowed.look(2, 20)
    both = incidents(slowed.engine, _EVER).incidents
    assert [(each.name, each.is_open) for each in both] == [("GET /slow", False)] * 2


def test_a_collector_that_stopped_with_a_wrong_clock_does_not_lead(tmp_path: Path) -> None:
    engine = EmbeddedEngine(with_tables(tmp_path), "walltime")
    engine.migrate()
    now_s = int(time.time()) // 60 * 60
    rows = [{"minute": now_s + 86_400, "collector": "a"}, {"minute": now_s, "collector": "b"}]
    engine.insert_rows("walltime_health", "\n".join(map(json.dumps, rows)).encode(), "minutes")
    events: list[Sequence[Event]] = []
    health = Health()
    watch = IncidentWatch(
        engine, health, Thresholds(), look_s=30, notify=events.append, collector="b", is_shared=True, clock=time.time
    )
    watch.look()
    assert watch._looks is not None
    engine.close()


def test_kinds_and_servers_that_went_away_are_forgotten() -> None:
    looks = Looks(Thresholds(), 30.0)

    def kind(number: int, at_s: int) -> dict[str, object]:
        return {"service": "s", "name": f"GET /{number}", "steps": [(at_s, 60, 0, 60 * 20 * MS, 20.0 * MS)]}

    looks.seed([kind(at, 0) for at in range(500)], [], 120, {})
    looks.look(1800, [], [])
    for hour in range(1, 4):
        now_s = hour * 3600
        sums = [kind(1_000 * hour + at, now_s) for at in range(500)]
        looks.judge(looks.look(now_s, sums, []))
        looks.seed(sums, [], 60, {})
        assert len(looks.kinds) == 500
    assert KindName("s", "GET /3001") in looks.kinds
