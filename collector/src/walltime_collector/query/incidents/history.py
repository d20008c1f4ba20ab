"""The recent past of one kind in memory: at most 40 samples of every series, of about the last hour."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from ..statistics.usual import Sample, Usual, usual_level, usual_mean, usual_share
from .answer import Measure

ENOUGH = 30
"""Transactions that a kind is judged by, and of a sample: with fewer, a mean is often below the real one."""
FEWEST = 10
"""Transactions without which it is not judged, however long it takes."""
MOST_SAMPLES = 40
MOST_SERIES = 500
"""Beyond this, series that occur in no sample are forgotten: their servers or components went away."""
LONGEST_S = 120
"""Neighbouring samples are joined until they are so long."""
_REFRESHED_EVERY = 10
"""New samples until what is usual is computed again."""
_STEADY = 1.5
"""Time and calls are steady while their samples differ from the usual by less than this factor."""
_STEADY_BY = {"time": 0.0, "calls": 0.5, "errors": 0.1, "hit_ratio": 0.1}
"""They are steady too while they differ by less than this."""


class Series(NamedTuple):
    """One measure of a kind; see answer.Change."""

    measure: Measure
    component: str = ""
    address: str = ""


TIME, ERRORS = Series("time"), Series("errors")


@dataclass(frozen=True)
class Piece:
    """What a kind did between two looks, or in a step of the past."""

    start_s: int
    end_s: int
    transactions: int
    samples: Mapping[Series, Sample]

    def sample(self, series: Series) -> Sample:
        """Without calls of a component the sample is 0 calls of all transactions; otherwise there is none."""
        without = self.transactions if series.measure == "calls" else 0
        return self.samples.get(series, (without, 0))


def joined(pieces: Sequence[Piece]) -> Piece:
    """One piece of neighbours, the oldest first."""
    count = sum(each.transactions for each in pieces)
    samples: dict[Series, Sample] = {}
    for piece in pieces:
        for series, (tries, total) in piece.samples.items():
            more_tries, more = samples.get(series, (0, 0))
            samples[series] = (count if series.measure == "calls" else tries + more_tries, total + more)
    return Piece(pieces[0].start_s, pieces[-1].end_s, count, samples)


class History:
    """What is usual for one kind. Its newest samples are joined to longer ones as they become many."""

    def __init__(self) -> None:
        self._starts = array("q")
        self._ends = array("q")
        self._tries: dict[Series, array[float]] = {}
        self._totals: dict[Series, array[float]] = {}
        self._usual: dict[Series, Usual | None] = {}
        self._levels: dict[Series, float | None] = {}
        self._added = self._newest = 0
        """Pieces that were added, and transactions of the newest sample."""

    def append(self, piece: Piece) -> None:
        """Add a piece; it begins after the others."""
        length = len(self._starts)
        if length and (self._newest < ENOUGH or piece.end_s - self._starts[-1] <= self._joined_s()):
            self._ends[-1], at = piece.end_s, length - 1
            self._newest += piece.transactions
        else:
            self._starts.append(piece.start_s)
            self._ends.append(piece.end_s)
            at, self._newest = length, piece.transactions
        for series in {**self._tries, **piece.samples}:
            sample = piece.sample(series)
            for columns, value in zip((self._tries, self._totals), sample, strict=True):
                column = columns.get(series)
                if column is None:
                    column = columns[series] = array("d")
                while len(column) <= at:
                    column.append(0.0)
                column[at] += value
        if len(self._starts) > MOST_SAMPLES:
            self._shorten()
        if len(self._tries) > MOST_SERIES:
            self._forget()
        self._added += 1
        if self._added % _REFRESHED_EVERY == 0 or len(self._starts) < 2 * _REFRESHED_EVERY:
            self._usual.clear()
            self._levels.clear()

    def level(self, series: Series) -> float | None:
        """The level of what is usual, which takes a tenth of the time; None while there are too few samples."""
        if series not in self._levels:
            values = sorted(total / tries for tries, total in self._samples(series) if tries > 0)
            self._levels[series] = usual_level(values, is_mean=series.measure in ("time", "calls"))
        return self._levels[series]

    def usual(self, series: Series) -> Usual | None:
        """What is usual of a series; None while there are too few samples."""
        if series not in self._usual:
            samples = [each for each in self._samples(series) if each[0] > 0]
            self._usual[series] = (usual_mean if series.measure in ("time", "calls") else usual_share)(samples)
        return self._usual[series]

    def steady_since_s(self, longest_s: int, changed: Iterable[Series]) -> int:
        """
        When the time of the kind, and what has changed, began to be as usual; 0 without samples.

        Args:
            longest_s: At most so many seconds before the end.
        """
        if not self._starts:
            return 0
        since_s = max(self._ends[-1] - longest_s, self._starts[0])
        for series in {TIME, *changed}:
            samples = zip(self._ends, self._samples(series), strict=False)
            values = [(end_s, total / tries) for end_s, (tries, total) in samples if tries]
            level = median([value for _, value in values] or [0.0])
            unsteady = [(end_s, not _is_steady(series, value, level)) for end_s, value in values]
            # one bad sample alone may be a few transactions
            lasting = (end_s for (_, before), (end_s, is_so) in pairwise(unsteady) if before and is_so)
            since_s = max([since_s, *lasting])
        return min(since_s, self._starts[-1])

    def _samples(self, series: Series) -> Iterator[Sample]:
        return zip(self._tries.get(series, ()), self._totals.get(series, ()), strict=True)

    def _joined_s(self) -> int:
        """Up to which length a new piece is joined to the newest sample: that of the others."""
        middle = len(self._starts) // 2
        return min(self._ends[middle] - self._starts[middle], LONGEST_S)

    def _forget(self) -> None:
        for series in [each for each, totals in self._totals.items() if not any(totals)]:
            if series not in (TIME, ERRORS):
                del self._tries[series], self._totals[series]

    def _shorten(self) -> None:
        """Join neighbours while samples are short; then forget the oldest."""
        columns = [*self._tries.values(), *self._totals.values()]
        if self._joined_s() >= LONGEST_S:
            oldest = slice(MOST_SAMPLES // 4)
            del self._starts[oldest], self._ends[oldest]
            for column in columns:
                del column[oldest]
            return
        self._starts, self._ends = self._starts[::2], self._ends[1::2] + self._ends[len(self._ends) & ~1 :]
        for column in columns:
            column.extend([0.0] * (len(self._starts) * 2 - len(column)))
            column[:] = array("d", (one + two for one, two in zip(column[::2], column[1::2], strict=True)))


def _is_steady(series: Series, value: float, level: float) -> bool:
    if series.measure in ("time", "calls") and level / _STEADY <= value <= level * _STEADY:
        return True
    return abs(value - level) <= _STEADY_BY[series.measure]
