"""The recent past of one kind in memory: at most 60 samples of every series, of about the last hour."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..statistics.usual import Sample, Usual, usual
from .answer import Measure

ENOUGH = 30
"""Transactions that a kind is judged by, and of a sample: with fewer, a mean is often below the real one."""
FEWEST = 10
"""Transactions without which it is not judged, however long it takes."""
SAMPLE_S = 60
"""A sample is as long, or longer until it has ENOUGH."""
_MOST_SAMPLES = 60
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

    @property
    def is_mean(self) -> bool:
        return self.measure in ("time", "calls")


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
    """What is usual for one kind."""

    def __init__(self) -> None:
        self._starts, self._ends = array("q"), array("q")
        self._series: dict[Series, int] = {}
        self._samples = np.zeros((0, 0, 2))
        """Of each sample and series: tries, and their sum."""
        self._usual: dict[Series, Usual | None] = {}
        self._added = self._newest = 0
        """Pieces that were added, and transactions of the newest sample."""

    def append(self, piece: Piece) -> None:
        """Add a piece; it begins after the others."""
        if not self._starts or (self._newest >= ENOUGH and piece.end_s - self._starts[-1] > SAMPLE_S):
            self._starts.append(piece.start_s)
            self._ends.append(piece.end_s)
            self._newest = 0
        self._ends[-1] = piece.end_s
        self._newest += piece.transactions
        for series in piece.samples:
            self._series.setdefault(series, len(self._series))
        if self._samples.shape[:2] != (shape := (len(self._starts), len(self._series))):
            old, self._samples = self._samples, np.zeros((*shape, 2))
            self._samples[: len(old), : old.shape[1]] = old
        self._samples[-1] += [piece.sample(series) for series in self._series]
        if len(self._starts) > _MOST_SAMPLES:
            self._forget(_MOST_SAMPLES // 4)
        self._added += 1
        if self._added % _REFRESHED_EVERY == 0 or len(self._starts) < 2 * _REFRESHED_EVERY:
            self._usual.clear()

    def usual(self, series: Series) -> Usual | None:
        """What is usual of a series; None while there are too few samples."""
        if series not in self._usual:
            at = self._series.get(series)
            self._usual[series] = None if at is None else usual(self._samples[:, at], is_mean=series.is_mean)
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
        for series in {TIME, *changed} & self._series.keys():
            tries, totals = self._samples[:, self._series[series]].T
            values = totals[tries > 0] / tries[tries > 0]
            level = np.median(values) if len(values) else 0.0
            is_steady = np.abs(values - level) <= _STEADY_BY[series.measure]
            if series.is_mean:
                is_steady |= (level / _STEADY <= values) & (values <= level * _STEADY)
            # one bad sample alone may be a few transactions
            lasting = np.flatnonzero(tries > 0)[1:][~is_steady[1:] & ~is_steady[:-1]]
            since_s = max([since_s, *(self._ends[at] for at in lasting)])
        return min(since_s, self._starts[-1])

    def _forget(self, oldest: int) -> None:
        """Forget samples, and the servers and components that occur in no other one."""
        self._starts, self._ends, self._samples = self._starts[oldest:], self._ends[oldest:], self._samples[oldest:]
        kept = [
            series for series, at in self._series.items() if series in (TIME, ERRORS) or self._samples[:, at, 1].any()
        ]
        self._samples = self._samples[:, [self._series[series] for series in kept]]
        self._series = {series: at for at, series in enumerate(kept)}
