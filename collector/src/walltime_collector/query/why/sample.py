"""Samples for `why` when there are very many transactions: randomly chosen minutes of each side."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...clickhouse.engine import Engine
from ..queries import run
from ..scope import Filters, Scope
from ..windows import Comparison, Window
from .answer import Sampled
from .durations import LONGEST_NS

_ENOUGH = 25_000
"""Transactions of a side; their mean is known to 1.9 % when the standard deviation is three times the mean."""
_LEAST_MINUTES = 6
_CONFIDENT = 1.96
"""Standard errors, of 95 %."""
_MINUTE_S, _MINUTE_NS = 60, 60_000_000_000


@dataclass(frozen=True)
class Sample:
    """Which transactions are compared."""

    minutes: Sequence[int] = ()
    """The beginnings of the minutes, Unix seconds; none means all."""
    slow_of: int = 1
    """About one in so many transactions of the slow side."""
    usual_of: int = 1


ALL = Sample()


def sample(
    engine: Engine, filters: Filters, compared: Comparison, enough: int = _ENOUGH, least: int = _LEAST_MINUTES
) -> Sample:
    """
    A sample with about `enough` transactions of each side and at least `least` minutes, or all when there are few.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    name = "why/count_minutes" if filters.are_in_minutes else "why/count"
    windows = compared.parameters()
    rows = run(engine, name, **filters.parameters(), **windows, threshold_ns=0, bound_ns=LONGEST_NS, minutes=())
    counts = {int(row["minute_s"]): int(row["transactions"]) for row in rows}
    slow, slow_of = _some(compared.slow, counts, enough, least)
    usual, usual_of = _some(compared.usual, counts, enough, least)
    return Sample(sorted({*slow, *usual}), slow_of, usual_of) if slow_of > 1 or usual_of > 1 else ALL


def sampled(
    engine: Engine, filters: Filters, compared: Comparison, of: Sample, errors: tuple[float | None, float | None]
) -> Sampled:
    """
    What the answer says of a sample.

    Args:
        errors: The standard errors of the usual and the slow mean, as parts of them.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    means_ns: list[float | None] = [None, None]
    if filters.are_in_minutes and not compared.is_of_one_window:
        for at, window in enumerate((compared.usual, compared.slow)):
            (row,) = run(engine, "scoped/durations", **Scope(window, filters).divided())
            means_ns[at] = int(row["total_ns"]) / int(row["transactions"]) if row["transactions"] else None
    return Sampled(of.usual_of, of.slow_of, *means_ns, *(each and _CONFIDENT * each for each in errors))


def _some(window: Window, counts: Mapping[int, int], enough: int, least: int) -> tuple[Sequence[int], int]:
    """Minutes of a window that have transactions, and one in how many of the transactions are in them."""
    first, last = window.start_ns // _MINUTE_NS * _MINUTE_S, window.end_ns // _MINUTE_NS * _MINUTE_S
    minutes = [minute for minute in counts if first <= minute <= last]
    whole = sum(counts[minute] for minute in minutes)
    if whole < 2 * enough:
        return minutes, 1
    chosen, transactions = list[int](), 0
    for minute in random.Random(window.start_ns).sample(minutes, len(minutes)):  # the same ones each time
        if transactions >= enough and len(chosen) >= least:
            break
        chosen.append(minute)
        transactions += counts[minute]
    one_in = round(whole / transactions)
    return (chosen, one_in) if one_in > 1 else (minutes, 1)
