"""The recent past of one kind in memory: at most 60 samples of every series, of about the last hour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    every = {series: None for piece in pieces for series in piece.samples}
    of_all = {series: [piece.sample(series) for piece in pieces] for series in every}
    samples = {series: (sum(each[0] for each in of), sum(each[1] for each in of)) for series, of in of_all.items()}
    return Piece(pieces[0].start_s, pieces[-1].end_s, sum(each.transactions for each in pieces), samples)


class History:
    """What is usual for one kind."""

    def __init__(self) -> None:
        self.times_s = np.zeros((0, 2), np.int64)
        """Start and end of each sample, the newest last."""
        self.samples: dict[Series, NDArray[np.float64]] = {}
        """Shape (samples, 2) of each series: tries, and their sum."""
        self._usual: dict[Series, Usual | None] = {}
        self._added = self._newest = 0
        """Pieces that were added, and transactions of the newest sample."""

    def append(self, piece: Piece) -> None:
        """Add a piece; it begins after the others."""
        if not len(self.times_s) or (self._newest >= ENOUGH and piece.end_s - self.times_s[-1, 0] > SAMPLE_S):
            self.times_s = _next(self.times_s)
            self.times_s[-1, 0] = piece.start_s
            # servers and components that occur in no sample any more are forgotten
            self.samples = {
                series: _next(old)
                for series, old in self.samples.items()
                if old[1:, int(series.measure == "calls")].any()
            }
            self._newest = 0
        self.times_s[-1, 1] = piece.end_s
        self._newest += piece.transactions
        for series in {**self.samples, **piece.samples}:
            if series not in self.samples:
                self.samples[series] = np.zeros((len(self.times_s), 2))
            self.samples[series][-1] += piece.sample(series)
        self._added += 1
        if self._added % _REFRESHED_EVERY == 0 or len(self.times_s) < 2 * _REFRESHED_EVERY:
            self._usual.clear()

    def usual(self, series: Series) -> Usual | None:
        """What is usual of a series; None while there are too few samples."""
        if series not in self._usual:
            samples = self.samples.get(series)
            self._usual[series] = None if samples is None else usual(samples, is_mean=series.is_mean)
        return self._usual[series]


def _next(samples: NDArray[Any]) -> NDArray[Any]:
    """With an empty one behind it, and at most _MOST_SAMPLES."""
    return np.pad(samples[1 - _MOST_SAMPLES :], ((0, 1), (0, 0)))
