"""`walltime top`: which kinds of transaction take the time, and in which components."""

from __future__ import annotations

import time

from ..clickhouse.engine import Engine
from ..conversion import from_row
from ..format import iso_time
from .answers import Kind, Ranking, Share, Top
from .components import counters_by_component
from .queries import Row
from .sampled import run_sums
from .scope import Filters, Scope
from .windows import Window

_S = 1_000_000_000
_NOTHING: Row = dict.fromkeys(("all_kinds", "all_transactions", "all_errors", "all_total_ns"), 0)
_CLOCK_AHEAD_S = 86_400
"""`top` counts transactions of senders whose clock is ahead by up to so much."""


def top(engine: Engine, *, since_s: int, service: str = "", by: Ranking = "total", limit: int = 20) -> Top:
    """
    Rank the kinds of the last `since_s` seconds; see top_of.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    now_ns = time.time_ns()
    window = Window(now_ns - since_s * _S, now_ns + _CLOCK_AHEAD_S * _S)
    return top_of(engine, Scope(window, Filters(service=service)), now_ns, by=by, limit=limit)


def top_of(engine: Engine, scope: Scope, now_ns: int, *, by: Ranking = "total", limit: int = 20) -> Top:
    """
    Rank the kinds of a scope by one of answers.RANKINGS.

    Rates are per minute of the time for which data is stored: a collector that was started two minutes ago has no
    rates over fifteen.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    start_ns, end_ns = scope.window.start_ns, scope.window.end_ns
    until_ns = min(end_ns, now_ns)
    rows = run_sums(engine, "kinds/top", by=by, limit=limit, **scope.divided())
    first = rows[0] if rows else _NOTHING
    window_s = max(until_ns - max(start_ns, first.get("first_ns", start_ns)), _S) / 1e9
    return from_row(
        Top,
        first,
        since=iso_time(start_ns),
        until=iso_time(until_ns),
        window_s=window_s,
        by=by,
        service=scope.filters.service,
        transactions=first["all_transactions"],
        errors=first["all_errors"],
        total_ns=first["all_total_ns"],
        kinds=tuple(_kind(row, window_s) for row in rows),
    )


def _kind(row: Row, window_s: float) -> Kind:
    transactions, total_ns, other_ns = row["transactions"], row["total_ns"], row["other_total_ns"]
    shares = [
        from_row(
            Share,
            counters,
            name=name,
            calls_per_transaction=counters.get("calls", 0) / transactions,
            mean_ns=round(counters.get("time_ns", 0) / transactions),
            share=counters.get("time_ns", 0) / max(total_ns, 1),
        )
        for name, counters in counters_by_component(row).items()
    ]
    return from_row(
        Kind,
        row,
        per_minute=transactions * 60 / window_s,
        mean_ns=round(total_ns / transactions),
        share=total_ns / max(row["all_total_ns"], 1),
        other_ns=other_ns,
        overlap_ns=sum(each.time_ns for each in shares) + other_ns - total_ns,
        components=tuple(shares),
    )
