"""Reads the transactions of a suspicious kind: did the kind change, or a few transactions, one client, one moment?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...clickhouse.engine import Engine
from ..queries import run
from ..statistics.capped import capped
from ..statistics.usual import Sample
from .history import FEWEST, Series
from .looks import Suspect, Thresholds, is_beyond_chance

_MOST_READ = 2_000
_MOMENTS = 6
"""The time is cut into so many: of those with transactions enough, at least half must have changed."""
_FEWEST_OF_MOMENT = 5
_MORE = 2.0
"""A client that makes a larger part of the transactions than in the hour before, by this factor, came or sends more."""
_Samples = NDArray[np.float64]
"""Shape (transactions, 2): how many (lookups, otherwise 1), and their sum."""


def confirmed(engine: Engine, thresholds: Thresholds, suspect: Suspect) -> dict[Series, float]:
    """
    The series whose transactions really changed, with their values.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    series, end_s = list(suspect.changed), suspect.window.end_s
    (row,) = run(
        engine,
        "incidents/transactions",
        service=suspect.kind.service,
        kind=suspect.kind.name,
        start_s=suspect.since_s,
        end_s=end_s,
        limit=_MOST_READ,
        measures=[each.measure for each in series],
        components=[each.component for each in series],
        addresses=[each.address for each in series],
    )
    if len(row["at_s"]) < FEWEST:
        return {}
    moments = (np.array(row["at_s"]) - suspect.since_s) * _MOMENTS // max(end_s - suspect.since_s, 1)
    samples, users = np.array(row["samples"], float), np.array(row["users"], np.uint64)
    usual_shares = np.array(row["usual_shares"], float)
    found: dict[Series, float] = {}
    for at, each in enumerate(series):
        of_others = _without_one_client(samples[:, at, 1], users, usual_shares)
        sample = _sample(samples[of_others, at])
        if sample[0] and _has_changed(each, sample, suspect, thresholds, int(of_others.sum())):
            level = suspect.changed[each].level
            if _lasts(each, samples[of_others, at], moments[of_others], level, thresholds):
                found[each] = sample[1] / sample[0]
    return found


def _has_changed(series: Series, sample: Sample, suspect: Suspect, thresholds: Thresholds, transactions: int) -> bool:
    usual = suspect.changed[series]
    return thresholds.is_over(series, sample[1] / sample[0], usual.level) and is_beyond_chance(
        series, sample, usual, transactions, suspect.chance
    )


def _without_one_client(
    sums: NDArray[np.float64], users: NDArray[np.uint64], usual_shares: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which transactions are left without those of the client with the largest sum of those who came or send more."""
    clients, first, of, counts = np.unique(users, return_index=True, return_inverse=True, return_counts=True)
    is_more = (clients != 0) & (counts / len(users) > _MORE * usual_shares[first])
    worst = int(np.argmax(np.where(is_more, np.bincount(of, sums), -1)))
    return np.asarray(of != worst) if is_more[worst] else np.ones(len(users), bool)


def _sample(samples: _Samples) -> Sample:
    tries, total = capped(samples).sum(0) if len(samples) else (0, 0)
    return float(tries), float(total)


def _lasts(series: Series, samples: _Samples, moments: NDArray[np.int64], level: float, thresholds: Thresholds) -> bool:
    """Whether it is so in at least half of the moments; the first of them may be before the change."""
    is_over = []
    for moment in range(_MOMENTS):
        of_moment = samples[moments == moment]
        tries, total = _sample(of_moment)
        if len(of_moment) >= _FEWEST_OF_MOMENT and tries:
            is_over.append(thresholds.is_over(series, total / tries, level))
    return 2 * sum(is_over) >= len(is_over)
