"""
Looks at all kinds: from sums per minute to what seems to have changed beyond chance and beyond the thresholds.

Sums do not show whether one transaction made all the calls: transactions.py confirms what is suspicious.
The sums of the newest minutes grow while transactions arrive, so the difference of two looks is what arrived between
them: a piece. The minutes of the last hour are the kind's history. There is no I/O here.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from ..queries import Row
from ..statistics.usual import FEWEST_SAMPLES, Sample, Usual, chance_of_a_look, is_higher
from .history import ENOUGH, ERRORS, FEWEST, TIME, History, Piece, Series, joined

LONGEST_WINDOW_S = 600
"""A kind is judged by its newest ENOUGH transactions, or by those of so many seconds."""
LEAST_TIME_NS = 1_000_000
LEAST_CALLS = 0.5
"""Per transaction."""
LEAST_MISSES = 0.1
"""By so much a hit ratio must fall."""
MINUTES = 2
"""The newest so many minutes are compared with the look before; what arrives later is not judged."""


_Samples = dict[Series, Sample]


class KindName(NamedTuple):
    """A kind: `service` and `name`."""

    service: str
    name: str


@dataclass(frozen=True)
class Thresholds:
    """What is large enough for an incident."""

    slower: float = 1.5
    """Time and calls: a multiple of the usual."""
    errors: float = 0.05
    """More transactions fail than usual, by this share of all."""

    def is_over(self, series: Series, value: float, level: float, part: float = 1.0) -> bool:
        """
        Whether a value is beyond the threshold.

        Args:
            part: 0.5 for half of the threshold.
        """
        if series.measure == "errors":
            return value - level >= self.errors * part
        if series.measure == "hit_ratio":
            return value - level >= LEAST_MISSES * part
        least = LEAST_TIME_NS if series.measure == "time" else LEAST_CALLS
        return value >= level * self.slower**part and value - level >= least * part


@dataclass
class Watched:
    """One kind between two looks."""

    history: History = field(default_factory=History)
    recent: deque[Piece] = field(default_factory=deque)
    """The pieces that it is judged by, the newest last."""
    suspected: Mapping[Series, int] = field(default_factory=dict)
    """What seemed to change in the look before, and when its window began."""
    is_open: bool = False
    """While it has an incident its history does not change."""
    usual_from_s: int = 0
    """The end of its last incident: what came before is not usual."""

    def add(self, piece: Piece) -> Piece:
        """Take a new piece, and return the window that is judged: the newest pieces with enough transactions."""
        kept, transactions = 1, piece.transactions
        # an incident must be judged to be closed, however few transactions come
        fewest = FEWEST if self.is_open else 0
        for older in reversed(self.recent):
            is_long = piece.end_s - older.start_s > LONGEST_WINDOW_S and transactions >= fewest
            if transactions >= ENOUGH or is_long:
                break
            kept, transactions = kept + 1, transactions + older.transactions
        self.recent.append(piece)
        while len(self.recent) > kept:
            self.recent.popleft()
        return joined(self.recent) if kept > 1 else piece

    def is_due(self, window: Piece) -> bool:
        """Whether the window is judged: it has enough transactions, or some and is long."""
        has_enough = window.transactions >= ENOUGH or window.end_s - window.start_s >= LONGEST_WINDOW_S - 60
        return has_enough and window.transactions >= FEWEST

    def close(self, usual_from_s: int) -> None:
        """Its incident is over; `usual_from_s` is 0 when that is the new usual."""
        self.is_open, self.suspected, self.usual_from_s = False, {}, usual_from_s
        self.recent.clear()


class Suspect(NamedTuple):
    """A kind that seems to have changed in this look and in the one before."""

    kind: KindName
    since_s: int
    """When the first of the two looks began."""
    window: Piece
    """Of the second."""
    changed: Mapping[Series, Usual]
    chance: float
    has_changed_twice: bool = True
    """A single look is no suspicion."""


class Looks:
    """The state of all kinds; not safe between threads."""

    def __init__(self, thresholds: Thresholds, look_s: float) -> None:
        self._thresholds, self._look_s = thresholds, look_s
        self.kinds: dict[KindName, Watched] = {}
        self._before: dict[KindName, dict[int, _Samples]] = {}
        self.looked_s = 0
        """When the last look was; 0 before the first."""

    def seed(
        self, kinds: Sequence[Row], servers: Sequence[Row], step_s: int, open_since_s: Mapping[KindName, int]
    ) -> None:
        """
        Take steps of the past, in order, as what is usual, and forget kinds that have none.

        Of kinds that have an incident nothing changes; of those that are new here what came before it is usual.
        """
        past = _sums(kinds, servers)
        self.kinds = {kind: each for kind, each in self.kinds.items() if each.is_open or kind in past}
        for kind, steps in past.items():
            watched, until_s = self.watched(kind), open_since_s.get(kind, math.inf)
            pieces = [
                Piece(start_s, start_s + step_s, int(samples[TIME][0]), samples)
                for start_s, samples in steps.items()
                if watched.usual_from_s <= start_s and start_s + step_s <= until_s
            ]
            history = History(pieces)
            # after an incident, what was usual before it is until enough is known
            if not watched.is_open and (not watched.usual_from_s or len(history.times_s) >= FEWEST_SAMPLES):
                watched.history = history

    def look(self, now_s: int, kinds: Sequence[Row], servers: Sequence[Row]) -> dict[KindName, Piece]:
        """
        Take the sums of the newest minutes, and return the window of each kind that has new transactions.

        The first call only remembers the sums.
        """
        before, self._before = self._before, _sums(kinds, servers)
        before_s, self.looked_s = self.looked_s, now_s
        windows: dict[KindName, Piece] = {}
        for kind, steps in self._before.items() if before_s else ():
            old = before.get(kind, {})
            grown = [_grown(samples, old.get(step, {})) for step, samples in steps.items()]
            pieces = [Piece(before_s, now_s, int(each[TIME][0]), each) for each in grown if each[TIME][0]]
            if pieces:
                windows[kind] = self.watched(kind).add(joined(pieces))
        return windows

    def steady_since_s(self, kind: KindName, changed: Iterable[Series]) -> int:
        """When the time of a kind, and what has changed, began to be as usual; 0 without samples."""
        history, is_over = self.kinds[kind].history, self._thresholds.is_over
        if not history.times_s:
            return 0
        since_s = history.times_s[0][0]
        for series in {TIME, *changed}:
            usual, was_odd = history.usual(series), False
            for (tries, total), (_, end_s) in zip(history.samples.get(series, ()), history.times_s, strict=False):
                if usual and tries:
                    value = total / tries
                    is_odd = is_over(series, value, usual.level) or is_over(series, usual.level, value)
                    if is_odd and was_odd:  # one bad sample alone may be a few transactions
                        since_s = max(since_s, end_s)
                    was_odd = is_odd
        return min(since_s, history.times_s[-1][0])

    def judge(self, windows: Mapping[KindName, Piece]) -> list[Suspect]:
        """The kinds that seem to have changed in this look and in the one before; each window is judged once."""
        known = {kind: window for kind, window in windows.items() if self.kinds[kind].is_due(window)}
        tested = sum(len(window.samples) for window in known.values())
        chance = chance_of_a_look(tested, self._look_s)
        suspects = []
        for kind, window in known.items():
            watched = self.kinds[kind]
            changed = self._changed(watched, window, chance)
            twice = {series: each for series, each in changed.items() if series in watched.suspected}
            if twice:
                since_s = min(watched.suspected[series] for series in twice)
                suspects.append(Suspect(kind, since_s, window, twice, chance))
            watched.suspected = dict.fromkeys(changed, window.start_s)
            if changed and not watched.is_open:
                watched.recent.clear()  # the second look must not see the same transactions again
        return suspects

    def is_over(self, series: Series, window: Piece, level: float, part: float = 1.0) -> bool:
        """Whether a window is beyond so much of the threshold; without tries nothing is known, and it is not."""
        tries, total = window.sample(series)
        return tries > 0 and self._thresholds.is_over(series, total / tries, level, part)

    def watched(self, kind: KindName) -> Watched:
        """The state of a kind, a new one when there is none."""
        return self.kinds.setdefault(kind, Watched()) if kind not in self.kinds else self.kinds[kind]

    def _changed(self, watched: Watched, window: Piece, chance: float) -> dict[Series, Usual]:
        return {
            series: usual
            for series, (tries, total) in window.samples.items()
            if (usual := watched.history.usual(series))
            and self.is_over(series, window, usual.level)
            and is_higher(total / tries, min(tries, window.transactions), usual, chance)
        }


def _sums(kinds: Iterable[Row], servers: Iterable[Row]) -> dict[KindName, dict[int, _Samples]]:
    """What each kind did in each step, as queries/incidents/kinds.sql and servers.sql have it."""
    found: dict[KindName, dict[int, _Samples]] = {}
    for row in kinds:
        # as if each had taken the typical time of its minute
        found[KindName(row["service"], row["name"])] = {
            step: {TIME: (count, count * (typical_ns or time_ns / count)), ERRORS: (count, errors)}
            for step, count, errors, time_ns, typical_ns in row["steps"]
            if count
        }
    for row in servers:
        steps = found.get(KindName(row["service"], row["name"]), {})
        for component, address, step, calls, hits, misses in row["servers"]:
            if samples := steps.get(step):
                of_calls, of_lookups = _series(component, address)
                samples[of_calls] = samples[TIME][0], samples.get(of_calls, (0, 0))[1] + calls
                if hits + misses:
                    samples[of_lookups] = hits + misses, misses
    return found


def _grown(now: _Samples, before: _Samples) -> _Samples:
    """What was added since the look before; new transactions take the typical time of their minute as it is now."""
    grown: _Samples = {}
    for series, (tries, total) in now.items():
        old_tries, old = before.get(series, (0, 0))
        new = max(tries - old_tries, 0)
        grown[series] = new, new * total / tries if series == TIME else max(total - old, 0)
    return grown


@lru_cache(10_000)
def _series(component: str, address: str) -> tuple[Series, Series]:
    return Series("calls", component), Series("hit_ratio", component, address)
