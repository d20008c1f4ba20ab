"""Single transactions of a Scope: the slowest, and typical ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...clickhouse.engine import Engine
from ...conversion import from_row
from ...format import iso_time
from ..queries import Row, run
from ..sampled import sampled
from ..scope import Scope
from .distribution import Durations, bin_of, edges_ns


@dataclass(frozen=True)
class Transaction:
    """One transaction, to look at in detail."""

    trace: str
    span: str
    service: str
    name: str
    started_at: str
    duration_ns: int
    is_error: bool
    http_status: int
    """0 without one."""
    kept: str
    """Why its calls are kept; empty when they are not."""


def slowest(engine: Engine, scope: Scope, limit: int = 5) -> tuple[Transaction, ...]:
    """The transactions that took longest, the longest first."""
    scope, least_ns = scope.aligned(), 0
    if scope.sample_level:  # the slowest of all are not faster than those of the sample
        in_sample = run(engine, "scoped/slowest", **scope.divided(), least_ns=0, limit=limit)
        least_ns = in_sample[-1]["duration_ns"] if len(in_sample) == limit else 0
    return _transactions(run(engine, "scoped/slowest", **scope.whole.divided(), least_ns=least_ns, limit=limit))


def typical(engine: Engine, scope: Scope, known: Durations, limit: int = 5) -> tuple[Transaction, ...]:
    """
    The transactions closest to the median, preferably with kept calls; those with calls may differ by 30 %.

    Args:
        known: Of the same scope. Of very many transactions, only a sample is looked at.
    """
    least_ns, most_ns = edges_ns(bin_of(known.p50_ns) - 2)[0], edges_ns(bin_of(known.p50_ns) + 2)[1]
    near = {"least_ns": int(least_ns), "most_ns": int(most_ns) + 1, "middle_ns": float(known.p50_ns)}
    of = sampled(engine, scope.aligned(), is_for_calls=True)
    return _transactions(run(engine, "scoped/typical", **of.parameters(), **near, limit=limit))


def _transactions(rows: Sequence[Row]) -> tuple[Transaction, ...]:
    return tuple(from_row(Transaction, row, started_at=iso_time(row["started_ns"])) for row in rows)
