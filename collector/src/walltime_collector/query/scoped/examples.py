"""Single transactions of a Scope: the slowest, and typical ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...clickhouse.engine import Engine
from ...format import iso_time
from ..answers import from_row
from ..queries import Row, run
from ..scope import Scope
from .distribution import MOST_READ, Distribution, Durations, bin_of, edges_ns

_S = 1_000_000_000


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


def slowest(engine: Engine, scope: Scope, known: Distribution | None = None, limit: int = 5) -> tuple[Transaction, ...]:
    """
    The transactions that took longest, the longest first.

    Args:
        known: Of the same scope; its bins bound the search.
    """
    least_ns, missing = 0.0, limit
    for bin_number, transactions in reversed(known.histogram().items()) if known and not scope.sample_level else ():
        least_ns, missing = edges_ns(bin_number)[0], missing - transactions
        if missing <= 0:
            break
    at_least_ns, scope = _just_below(least_ns), scope.aligned()
    if scope.sample_level:  # the slowest of all are not faster than those of the sample
        in_sample = run(engine, "scoped/slowest", **scope.divided(), least_ns=0, limit=limit)
        at_least_ns = int(in_sample[-1]["duration_ns"]) if len(in_sample) == limit else 0
    return _transactions(run(engine, "scoped/slowest", **scope.whole.divided(), least_ns=at_least_ns, limit=limit))


def typical(engine: Engine, scope: Scope, known: Durations, limit: int = 5) -> tuple[Transaction, ...]:
    """
    The transactions closest to the median, preferably with kept calls; those with calls may differ by 30 %.

    Args:
        known: Of the same scope. Of more than MOST_READ transactions, only those of some steps are looked at.
    """
    middle = bin_of(known.p50_ns)
    least_ns, most_ns = edges_ns(middle - 2)[0], edges_ns(middle + 2)[1]
    params: dict[str, int | float] = {"least_ns": _just_below(least_ns), "most_ns": int(most_ns) + 1}
    params |= {"middle_ns": float(known.p50_ns), "step_ns": scope.step_s * _S, "limit": limit}
    every = 1 if scope.sample_level else -(-known.transactions // MOST_READ) or 1
    rows = run(engine, "scoped/typical", **scope.aligned().parameters(), **params, every=every)
    if every > 1 and len(rows) < limit:  # they are in other steps
        rows = run(engine, "scoped/typical", **scope.aligned().parameters(), **params, every=1)
    return _transactions(rows)


def _just_below(edge_ns: float) -> int:
    return max(int(edge_ns) - 1, 0)


def _transactions(rows: Sequence[Row]) -> tuple[Transaction, ...]:
    return tuple(
        from_row(Transaction, row, started_at=iso_time(int(row["started_ns"])), is_error=bool(row["is_error"]))
        for row in rows
    )
