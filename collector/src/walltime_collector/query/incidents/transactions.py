"""Reads the transactions of a suspicious kind: did the kind change, or a few transactions, one client, one moment?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...clickhouse.engine import Engine
from ..queries import run
from ..statistics.tails import capped
from ..statistics.usual import is_higher
from .history import FEWEST, Series
from .looks import KindName, Suspect, Thresholds

_MOST_READ = 2_000
_LEAST_DAYS = 2
_MOMENTS = 6
"""The time is cut into so many: of those with transactions enough, at least half must have changed."""
_FEWEST_OF_MOMENT = 5
_SURE = 3.0
"""Without so many deviations more than the largest twentieth, it must be above half of the threshold."""
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
        of_others, usual = _without_one_client(samples[:, at, 1], users, usual_shares), suspect.changed[each]
        left, moments_left = samples[of_others, at], moments[of_others]
        value, surely = _value(each, left), _value(each, left, deviations=_SURE)
        if value is None or surely is None:
            continue
        of_moments = [_value(each, left[moments_left == moment], _FEWEST_OF_MOMENT) for moment in range(_MOMENTS)]
        lasts = [thresholds.is_over(each, one, usual.level) for one in of_moments if one is not None]
        if (
            thresholds.is_over(each, value, usual.level)
            and thresholds.is_over(each, surely, usual.level, 0.5)
            and is_higher(value, len(left), usual, suspect.chance)
            and 2 * sum(lasts) >= len(lasts)
        ):
            found[each] = value
    return found


def is_usual_at(
    now_s: int, engine: Engine, thresholds: Thresholds, kind: KindName, changed: Mapping[Series, float]
) -> bool:
    """
    Whether all of it is known of the same time of earlier days: not beyond half of a threshold.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    rows = run(engine, "incidents/earlier", **kind._asdict(), now_s=now_s, least_days=_LEAST_DAYS)
    known = {Series(row["measure"], row["component"], row["address"]): float(row["level"]) for row in rows}
    return all(
        series in known and not thresholds.is_over(series, value, known[series], 0.5)
        for series, value in changed.items()
    )


def _without_one_client(
    sums: NDArray[np.float64], users: NDArray[np.uint64], usual_shares: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which transactions are left without those of the client with the largest sum of those who came or send more."""
    clients, first, of, counts = np.unique(users, return_index=True, return_inverse=True, return_counts=True)
    is_more = (clients != 0) & (counts / len(users) > _MORE * usual_shares[first])
    worst = int(np.argmax(np.where(is_more, np.bincount(of, sums), -1)))
    return np.asarray(of != worst) if is_more[worst] else np.ones(len(users), bool)


def _value(series: Series, samples: _Samples, fewest: int = 1, deviations: float = 0.0) -> float | None:
    """The sum for each try, where a few transactions do not decide; None of fewer ones or without tries."""
    tries, totals = samples[samples[:, 0] > 0].T
    if len(tries) < fewest:
        return None
    if series.is_mean:
        return float(capped(totals, deviations).mean())
    weights = capped(tries, deviations)
    return float((weights * totals / tries).sum() / weights.sum())
