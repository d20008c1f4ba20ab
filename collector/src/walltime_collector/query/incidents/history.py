"""The recent past of one kind: the samples of every series in the last hour."""

from __future__ import annotations

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
    """What was usual for one kind: samples of ENOUGH transactions, or more where a piece has more."""

    def __init__(self, pieces: Iterable[Piece] = ()) -> None:
        groups: list[list[Piece]] = []
        for piece in pieces:
            if not groups or sum(each.transactions for each in groups[-1]) >= ENOUGH:
                groups.append([])
            groups[-1].append(piece)
        samples = list(map(joined, groups))
        self.times_s = [(each.start_s, each.end_s) for each in samples]
        """Start and end of each sample."""
        every = {series for each in samples for series in each.samples}
        self.samples = {series: np.array([each.sample(series) for each in samples], float) for series in every}
        """Shape (samples, 2) of each series: tries, and their sum."""
        self._usual: dict[Series, Usual | None] = {}

    def usual(self, series: Series) -> Usual | None:
        """What is usual of a series; None while there are too few samples."""
        if series not in self._usual:
            samples = self.samples.get(series)
            self._usual[series] = None if samples is None else usual(samples, is_mean=series.is_mean)
        return self._usual[series]
