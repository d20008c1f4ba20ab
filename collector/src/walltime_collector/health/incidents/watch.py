"""The thread that looks for incidents: opens, explains, updates and closes them, and sends messages about them."""

from __future__ import annotations

import gc
import json
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

from ...background import BackgroundThread
from ...clickhouse.engine import Engine
from ...query.incidents.history import TIME, Piece, Series
from ...query.incidents.looks import MINUTES, KindName, Looks, Suspect, Thresholds
from ...query.incidents.stored import incidents
from ...query.incidents.transactions import confirmed, is_usual_at
from ...query.queries import Row, run
from ...query.windows import Window
from ..counters import Health
from .current import SILENT_S, Current, adopted
from .explanation import explain, usual_window

_TABLE = "incidents"
_USUAL_S, _USUAL_EVERY_S = 3600, 300
"""What is usual is that of so long a time, and is read again after so long."""
_MINUTE_S = 60
_MOST_CONFIRMED = 100
"""Suspicious kinds of one look; the others follow in the next ones."""
_EXPLAINING_S = 3.0
"""In one look `why`, which reads transactions, begins for so long; those without an explanation are first."""
_STORED_EVERY_S = 300
_QUICK_S = 0.3
"""After a look that took twice as long the next one comes after twice the time, but at most LONGEST_S: by default the
thread works at most 1 % of the time."""
_LONGEST_S = 60.0
_S = 1_000_000_000
_EVER_S = 4_000_000_000


class Event(NamedTuple):
    """What a message is about; each is sent once."""

    what: Literal["opened", "severity", "closed"]
    incident: Current


class IncidentWatch(BackgroundThread):
    """
    Looks at all kinds, with two queries a look however many kinds there are.

    Args:
        notify: Takes the events of a look, when the incidents are stored; it must not block.
        collector: The id of this collector.
        is_shared: Whether other collectors may write to the same database: one of them looks.
        clock: Unix time in seconds.
    """

    def __init__(
        self,
        engine: Engine,
        health: Health,
        thresholds: Thresholds,
        *,
        look_s: float,
        notify: Callable[[Sequence[Event]], object],
        collector: str,
        is_shared: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__("incidents", "look for incidents", look_s, waits_first=True)
        self._engine, self._health, self._notify, self._clock = engine, health, notify, clock
        self._thresholds, self._look_s = thresholds, look_s
        self._collector, self._is_shared = collector, is_shared
        self._run, self._stored = uuid.uuid4().hex, 0
        self._looks: Looks | None = None
        self._usual_s = 0
        """When what is usual was read."""
        self._open: dict[str, Current] = {}
        self._events: list[Event] = []
        """Not yet stored, and so not yet sent."""

    def step(self) -> None:
        """Look once; the next look comes later when this one took long."""
        began_s = time.monotonic()
        self.look()
        took_s = time.monotonic() - began_s
        every_s = max(self._look_s, min(self._look_s * took_s / _QUICK_S, _LONGEST_S))
        self.interval_s = every_s - min(took_s, self._look_s / 2)

    def failed(self, error: Exception) -> float:
        """See BackgroundThread; what was not stored or sent is stored and sent after a later look."""
        self._health.add("incident_looks_failed")
        self._health.looked_for_incidents(str(error))
        self.interval_s = self._look_s
        return super().failed(error)

    def look(self) -> None:
        """
        Look at all kinds once.

        Raises:
            EngineError: It failed; the next look continues.
        """
        now_s = int(self._clock())
        if self._is_shared and not self._is_leader(now_s):
            self._looks = None
        else:
            looks = self._looks if self._continues(now_s) else None
            looks = looks or self._begin(now_s)
            if now_s - self._usual_s >= _USUAL_EVERY_S:
                self._seed(looks, now_s)
            first_s = now_s // _MINUTE_S * _MINUTE_S
            with _without_garbage_collection():
                windows = looks.look(now_s, *self._sums(first_s - (MINUTES - 1) * _MINUTE_S, first_s + 2 * _MINUTE_S))
                suspects = looks.judge(windows)
            self._update(looks, windows, now_s)
            self._take(looks, suspects, now_s)
            self._explain(now_s)
            self._store(now_s)
        self._health.add("incident_looks")
        self._health.looked_for_incidents()

    def _is_leader(self, now_s: int) -> bool:
        """Not before its first minute of counters is stored, so that of two that start together one looks."""
        (row,) = run(self._engine, "incidents/leader", now_s=now_s)
        return bool(row["collector"] == self._collector)

    def _continues(self, now_s: int) -> bool:
        """Not after a long pause or when the clock went back: which kinds had transactions meanwhile is not known."""
        return self._looks is not None and 0 <= now_s - (self._looks.looked_s or now_s) < SILENT_S

    def _begin(self, now_s: int) -> Looks:
        """Open incidents come from the table."""
        looks = Looks(self._thresholds, self._look_s)
        stored = incidents(self._engine, Window(0, _EVER_S * _S), is_open=True, limit=10_000)
        self._open = {each.id: adopted(each, now_s) for each in stored.incidents}
        self._events = []
        self._seed(looks, now_s)
        for each in self._open.values():
            looks.watched(each.kind).is_open = True
        self._looks = looks
        return looks

    def _seed(self, looks: Looks, now_s: int) -> None:
        end_s = now_s // _MINUTE_S * _MINUTE_S - (MINUTES - 1) * _MINUTE_S
        with _without_garbage_collection():
            sums = self._sums(end_s - _USUAL_S, end_s)
            looks.seed(*sums, _MINUTE_S, {each.kind: each.started_s for each in self._open.values()})
        self._usual_s = now_s

    def _sums(self, start_s: int, end_s: int) -> tuple[Sequence[Row], Sequence[Row]]:
        params = {"start_s": start_s, "end_s": end_s}
        return run(self._engine, "incidents/kinds", **params), run(self._engine, "incidents/servers", **params)

    def _update(self, looks: Looks, windows: Mapping[KindName, Piece], now_s: int) -> None:
        for incident in self._open.values():
            if not incident.is_open:
                continue  # it is not stored yet
            incident.look(now_s, windows.get(incident.kind), looks)
            if not incident.is_open:
                incident.due_s = 0
                if not any(each.is_open and each.kind == incident.kind for each in self._open.values()):
                    looks.watched(incident.kind).close(0 if incident.ended_because == "lasting" else incident.ended_s)
                self._events.append(Event("closed", incident))

    def _take(self, looks: Looks, suspects: Sequence[Suspect], now_s: int) -> None:
        """Read the transactions of what is suspicious; open incidents, and let those that are open know more."""
        is_open = {each.kind: each for each in self._open.values() if each.is_open}
        known = {each.kind for each in self._open.values()}
        news = [
            each
            for each in suspects
            if (is_open[each.kind].is_news(each) if each.kind in is_open else each.kind not in known)
        ]
        random.shuffle(news)  # the same ones may be suspicious again and again
        for suspect in news[:_MOST_CONFIRMED]:
            changed = confirmed(self._engine, self._thresholds, suspect)
            if incident := is_open.get(suspect.kind):
                incident.take(suspect, changed)
            elif changed and not is_usual_at(now_s, self._engine, self._thresholds, suspect.kind, changed):
                self._open_new(looks, suspect, changed, now_s)

    def _open_new(self, looks: Looks, suspect: Suspect, changed: Mapping[Series, float], now_s: int) -> None:
        watched = looks.watched(suspect.kind)
        incident = Current(suspect.kind, suspect.since_s, now_s, now_s, seen_s=now_s)
        incident.take(suspect, changed)
        usual, steady_s = watched.history.usual(TIME), looks.steady_since_s(suspect.kind, changed)
        incident.usual = usual_window(self._engine, incident, steady_s, usual.level if usual else 0.0)
        watched.is_open = True
        self._open[incident.id] = incident
        self._events.append(Event("opened", incident))

    def _explain(self, now_s: int) -> None:
        """New ones, those that have lasted twice as long as when they were explained, and those that are over."""
        due = [each for each in self._open.values() if now_s >= each.due_s]
        due.sort(key=lambda each: (each.explained_s > 0, each.severity == "warning", each.explained_s))
        began_s = time.monotonic()
        for incident in due:
            if explain(self._engine, incident, now_s):
                incident.stored_s = 0
            if time.monotonic() - began_s > _EXPLAINING_S:
                break

    def _store(self, now_s: int) -> None:
        """Store what has changed, then send messages about it."""
        for each in self._open.values():
            if each.is_open and each.told not in ("", each.severity):
                self._events.append(Event("severity", each))
            each.told = each.severity
        changed = {event.incident.id for event in self._events}
        due = [each for each in self._open.values() if each.id in changed or now_s - each.stored_s >= _STORED_EVERY_S]
        if due:
            rows = "".join(json.dumps(each.row(self._collector, self._clock())) + "\n" for each in due)
            self._stored += 1
            self._engine.insert_rows(_TABLE, rows.encode(), f"{_TABLE}/{self._run}/{self._stored}")
        for each in due:
            each.stored_s = now_s
        events, self._events = self._events, []
        for event in events:
            self._health.add(f"incidents_{event.what}")
            if event.what == "closed":
                self._open.pop(event.incident.id, None)
        if events:
            self._notify(events)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """The rows of thousands of kinds have no cycles; looking for some in them is 60 % of the CPU time of a look."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()
