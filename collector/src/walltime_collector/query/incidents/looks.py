"""
Looks at all kinds: from sums per minute to what changed beyond chance and beyond the thresholds.

The sums of the newest minutes grow while transactions arrive, so the difference of two looks is what arrived between
them: a piece. Pieces that are as usual become the kind's history. There is no I/O here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..queries import Row
from .chance import FEWEST_SAMPLES, Sample, Usual, chance_of_a_look, mean_is_higher, share_is_higher
from .history import ENOUGH, ERRORS, FEWEST, MOST_OUTLIERS, TIME, History, Piece, Series

LONGEST_WINDOW_S = 600
"""A kind is judged by its newest ENOUGH transactions, or by those of so many seconds."""
LEAST_TIME_NS = 1_000_000
LEAST_CALLS = 0.5
"""Per transaction."""
LEAST_MISSES = 0.1
"""By so much a hit ratio must fall."""
MINUTES = 2
"""The newest so many minutes are compared with the look before; what arrives later is not judged."""
_FORGOTTEN_S = 86_400


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
    suspected: frozenset[Series] = frozenset()
    """What had changed in the look before."""
    suspected_since_s: int = 0
    """When the first of the looks began in which something had changed, without one in between."""
    is_open: bool = False
    """While it has an incident its history does not change."""

    def add(self, piece: Piece) -> Piece:
        """Take a new piece, and return the window that is judged: the newest pieces with enough transactions."""
        self.recent.append(piece)
        window = piece
        kept = 1
        for older in list(self.recent)[-2::-1]:
            if window.transactions >= ENOUGH or piece.end_s - older.start_s > LONGEST_WINDOW_S:
                break
            window = older + window
            kept += 1
        while len(self.recent) > kept:
            old = self.recent.popleft()
            if not self.is_open:
                self.history.append(old)
        return window

    def is_due(self, window: Piece) -> bool:
        """Whether the window is judged: it has enough transactions, or some and is long."""
        has_enough = window.transactions >= ENOUGH or window.end_s - window.start_s >= LONGEST_WINDOW_S - 60
        return has_enough and window.transactions >= FEWEST

    def close(self, *, forgets: bool) -> None:
        """Its incident is over; what came before it is usual again, unless that is forgotten."""
        self.is_open, self.suspected = False, frozenset()
        self.recent.clear()
        if forgets:
            self.history = History()


class Judged(NamedTuple):
    """A kind that changed in this look."""

    kind: KindName
    window: Piece
    changed: Mapping[Series, Usual]
    has_changed_twice: bool
    """In this look and in the one before."""


class Looks:
    """The state of all kinds; not safe between threads."""

    def __init__(self, thresholds: Thresholds, look_s: float) -> None:
        self._thresholds, self._look_s = thresholds, look_s
        self.kinds: dict[KindName, Watched] = {}
        self._before: dict[tuple[object, ...], tuple[int, ...]] = {}
        self._before_s = 0

    def seed(
        self, kinds: Sequence[Row], servers: Sequence[Row], step_s: int, open_since_s: Mapping[KindName, int]
    ) -> None:
        """Take steps of the past, in order, as what is usual; of kinds that have an incident those before it."""
        for kind, piece in _pieces(kinds, servers, {}, {}, 0, 0, step_s):
            if piece.end_s <= open_since_s.get(kind, piece.end_s):
                self.watched(kind).history.append(piece)

    def look(self, now_s: int, kinds: Sequence[Row], servers: Sequence[Row]) -> dict[KindName, Piece]:
        """
        Take the sums of the newest minutes, and return the window of each kind that has new transactions.

        The first call only remembers the sums.
        """
        before, self._before = self._before, {}
        pieces = list(_pieces(kinds, servers, before, self._before, self._before_s, now_s, 0))
        is_first, self._before_s = not self._before_s, now_s
        if is_first:
            return {}
        return {kind: self.watched(kind).add(piece) for kind, piece in pieces if piece.transactions > 0}

    def judge(self, windows: Mapping[KindName, Piece]) -> list[Judged]:
        """The kinds that changed in this look; each window is judged once."""
        known = {kind: window for kind, window in windows.items() if self.kinds[kind].is_due(window)}
        tested = sum(len(window.samples) for window in known.values())
        chance = chance_of_a_look(tested, self._look_s)
        judged = []
        for kind, window in known.items():
            watched = self.kinds[kind]
            changed = self._changed(watched, window, chance)
            if changed:
                if not watched.suspected:
                    watched.suspected_since_s = window.start_s
                twice = bool(watched.suspected & changed.keys())
                judged.append(Judged(kind, window, changed, twice))
            watched.suspected = frozenset(changed)
            if changed and not watched.is_open:
                watched.recent.clear()  # the second look must not see the same transactions again
        return judged

    def forget(self, now_s: int) -> None:
        """Drop kinds without transactions for a day."""
        for kind in [each for each, watched in self.kinds.items() if not watched.is_open]:
            recent = self.kinds[kind].recent
            if recent and recent[-1].end_s < now_s - _FORGOTTEN_S:
                del self.kinds[kind]

    def is_still_changed(self, series: Series, window: Piece, level: float) -> bool:
        """Whether a window is above half of the threshold still; without tries nothing is known, and it is not."""
        tries, total = window.judged(series)
        return tries > 0 and self._thresholds.is_over(series, total / tries, level, 0.5)

    def watched(self, kind: KindName) -> Watched:
        """The state of a kind, a new one when there is none."""
        if kind not in self.kinds:
            self.kinds[kind] = Watched()
        return self.kinds[kind]

    def _changed(self, watched: Watched, window: Piece, chance: float) -> dict[Series, Usual]:
        changed = {}
        # an older window with one bad piece is no change that lasts
        pieces = [each for each in watched.recent if each.transactions >= FEWEST or each is watched.recent[-1]]
        for series in window.samples:
            sample, usual = window.judged(series), watched.history.usual(series)
            if (
                usual is not None
                and sample[0]
                and self._is_over(series, window, usual.level)
                and all(self._is_over(series, piece, usual.level) for piece in pieces)
                and is_beyond_chance(series, sample, usual, window.transactions, chance)
            ):
                changed[series] = usual
        return changed

    def _is_over(self, series: Series, piece: Piece, level: float) -> bool:
        tries, total = piece.judged(series)
        return tries > 0 and self._thresholds.is_over(series, total / tries, level)


def is_beyond_chance(series: Series, sample: Sample, usual: Usual, transactions: int, chance: float) -> bool:
    """Whether a sample of a series is above the usual beyond chance."""
    if usual.samples < FEWEST_SAMPLES:
        return False
    if series.measure in ("time", "calls"):
        return mean_is_higher(sample, usual, chance)
    tries = min(sample[0], transactions)  # the lookups of one transaction are no independent tries
    return share_is_higher((tries, sample[1] / sample[0] * tries), usual, chance)


def _pieces(
    kinds: Iterable[Row],
    servers: Iterable[Row],
    before: Mapping[tuple[object, ...], tuple[int, ...]],
    now: dict[tuple[object, ...], tuple[int, ...]],
    start_s: int,
    end_s: int,
    step_s: int,
) -> Iterable[tuple[KindName, Piece]]:
    """What the sums grew by since the look before: a piece of each kind, or with `step_s` one of each step."""
    grown: dict[tuple[KindName, int], dict[Series, list[float]]] = {}
    transactions: dict[tuple[KindName, int], int] = {}
    longest: dict[tuple[KindName, int], list[int]] = {}
    for row in kinds:
        kind, step = KindName(row["service"], row["name"]), int(row["step"])
        key = (*kind, step)
        sums = now[key] = tuple(int(row[name]) for name in ("transactions", "errors", "duration_ns", "max_ns"))
        old = before.get(key, (0, 0, 0, 0))
        count, errors, time_ns = (max(new - past, 0) for new, past in zip(sums[:3], old[:3], strict=True))
        if not count:
            continue
        at = (kind, step if step_s else 0)
        transactions[at] = transactions.get(at, 0) + count
        samples = grown.setdefault(at, {})
        if sums[3] > old[3]:
            longest.setdefault(at, []).append(sums[3])
        _add(samples, TIME, count, time_ns)
        _add(samples, ERRORS, count, errors)
    for row in servers:
        kind, step = KindName(row["service"], row["name"]), int(row["step"])
        component, address = row["component"], row["address"]
        of_server = (*kind, step, component, address)
        sums = now[of_server] = tuple(int(row[name]) for name in ("calls", "hits", "misses"))
        old = before.get(of_server, (0, 0, 0))
        at = (kind, step if step_s else 0)
        if sums == old or at not in grown:
            continue
        calls, hits, misses = (max(new - past, 0) for new, past in zip(sums, old, strict=True))
        _add(grown[at], Series("calls", component), 0, calls)
        if hits + misses:
            _add(grown[at], Series("hit_ratio", component, address), hits + misses, misses)
    for (kind, step), series in sorted(grown.items(), key=lambda item: item[0][1]):
        count = transactions[kind, step]
        samples_of = {
            each: (count if each.measure == "calls" else tries, total) for each, (tries, total) in series.items()
        }
        times = (step, step + step_s) if step_s else (start_s, end_s)
        outliers = sorted(longest.get((kind, step), ()))[-MOST_OUTLIERS:]
        yield kind, Piece(*times, count, samples_of, tuple(outliers))


def _add(samples: dict[Series, list[float]], series: Series, tries: float, total: float) -> None:
    known = samples.setdefault(series, [0, 0])
    known[0] += tries
    known[1] += total
