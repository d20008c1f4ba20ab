"""Runs the questions in queries/*.sql with bound parameters through the engine and gives typed answers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from functools import cache
from importlib.resources import files
from typing import Any

from ..clickhouse.engine import Engine, Parameter
from .after_response import after_response
from .answers import Bill, Component, Kind, Share, Statement, Target, Top, Trace
from .components import counters_by_component, number
from .kept_calls import kept_call
from .slow_log_join import beside_calls, beside_statements, of_connections
from .trace_tree import in_order, own_times, owners

MAX_TRANSACTIONS = 500
MAX_CALLS = 10_000
"""A trace with more than this is shown in part, and says so."""

CLOCKS_NS = 2_000_000_000
"""Of this much the database's clock and the application's may differ, seconds that are cut off included."""

_NOBODY = "0" * 16


@cache
def question(name: str) -> str:
    """The text of queries/<name>.sql."""
    return (files(__package__) / "queries" / f"{name}.sql").read_text("utf-8")


def run(engine: Engine, name: str, /, **parameters: Parameter) -> Sequence[Mapping[str, Any]]:
    """
    Ask queries/<name>.sql; its placeholders are `{parameter:Type}`.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    return engine.query(question(name), parameters)


def top(engine: Engine, *, since_s: int, service: str = "", by: str = "total", limit: int = 20) -> Top:
    """
    Rank the kinds of the last `since_s` seconds by one of answers.RANKINGS.

    Rates are per minute of the window in which data was stored at all: a collector started two minutes ago is not
    asked about fifteen.
    """
    until_ns = time.time_ns()
    since_ns = until_ns - since_s * 1_000_000_000
    rows = run(engine, "top", since_ns=since_ns, service=service, by=by, limit=limit)
    whole = rows[0] if rows else {}
    first_ns = max(since_ns, int(whole.get("first_ns", since_ns)))
    window_s = max(until_ns - first_ns, 1_000_000_000) / 1e9
    return Top(
        since=iso(since_ns),
        until=iso(until_ns),
        window_s=window_s,
        by=by,
        service=service,
        all_kinds=int(whole.get("all_kinds", 0)),
        transactions=int(whole.get("all_transactions", 0)),
        errors=int(whole.get("all_errors", 0)),
        total_ns=int(whole.get("all_total_ns", 0)),
        kinds=tuple(_kind(row, window_s) for row in rows),
    )


def show(engine: Engine, trace_id: str) -> Trace | None:
    """
    All transactions of a trace with their bills and kept calls; None when no transaction of it is stored.

    Its questions are asked at once, as far as they do not need each other's answers, so it takes up to three of the
    engine's QUERY_CONNECTIONS.

    Raises:
        EngineUnavailable: The engine cannot answer one of them now.
    """
    with ThreadPoolExecutor(2, "show") as beside:
        asked_kept = beside.submit(_kept, engine, trace_id)
        asked_logged = beside.submit(run, engine, "show_slow_queries", trace_id=trace_id, limit=MAX_CALLS)
        bills = run(engine, "show_transactions", trace_id=trace_id, limit=MAX_TRANSACTIONS + 1)
        spans, untagged = asked_kept.result()
        logged = asked_logged.result()
    if not bills:
        return None
    if not spans and any(row["kept"] for row in bills):  # they may have been stored between the two questions
        spans, untagged = _kept(engine, trace_id)
    is_complete = len(bills) <= MAX_TRANSACTIONS and len(spans) <= MAX_CALLS
    bills, spans = bills[:MAX_TRANSACTIONS], spans[:MAX_CALLS]
    by_span = {row["span"]: row for row in bills}
    owner = owners({row["span"]: row["parent"] for row in spans}, by_span)
    caller = {span: owner.get(row["parent"], "") for span, row in by_span.items()}
    calls: dict[str, list[Mapping[str, Any]]] = {}
    own_ns = own_times(spans)
    for row in ({**row, "own_ns": own_ns[row["span"]]} if row["is_foreign"] else row for row in spans):
        calls.setdefault(owner[row["span"]], []).append(row)
    entries: dict[str, list[Mapping[str, Any]]] = {}
    for row in logged:
        entries.setdefault(row["span"], []).append(row)
    first_ns = min(int(row["started_ns"]) for row in bills)
    return Trace(
        trace_id=trace_id,
        transactions=tuple(
            _bill(by_span[span], depth, first_ns, calls.get(span, []), entries.get(span, []), untagged)
            for span, depth in in_order(list(by_span), caller)
        ),
        spans_elsewhere=len(calls.get("", [])),
        is_complete=is_complete,
    )


def _kept(engine: Engine, trace_id: str) -> tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]:
    """The spans of this trace, see _spans, and what the log says untagged about the connections of those shown."""
    spans = _spans(engine, trace_id)
    return spans, _untagged(engine, spans[:MAX_CALLS])


def _spans(engine: Engine, trace_id: str) -> Sequence[Mapping[str, Any]]:
    """What of this trace was kept one by one, oldest first; one more than MAX_CALLS at least when there are more."""
    spans = run(engine, "show_calls", trace_id=trace_id, limit=MAX_CALLS + 1)
    ours = [row for row in spans if not row["is_foreign"]]
    if len(ours) == len(spans):
        return spans
    theirs = run(engine, "show_foreign_calls", trace_id=trace_id, limit=MAX_CALLS + 1)
    return sorted([*ours, *theirs], key=lambda row: (int(row["started_ns"]), row["span"]))


def _untagged(engine: Engine, spans: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The entries of the database's log on the connections of these calls, at their time, that name no transaction."""
    made = [
        (connection_id, int(row["started_ns"]), int(row["duration_ns"]))
        for row in spans
        if (connection_id := number(row["attributes"].get("walltime.mysql.connection_id", "")))
    ]
    if not made:
        return ()
    return run(
        engine,
        "show_untagged_slow_queries",
        connections=sorted({connection_id for connection_id, _, _ in made}),
        since_ns=min(started_ns for _, started_ns, _ in made) - CLOCKS_NS,
        until_ns=max(started_ns + duration_ns for _, started_ns, duration_ns in made) + CLOCKS_NS,
        limit=MAX_CALLS,
    )


def iso(ns: int) -> str:
    """Unix nanoseconds as an ISO time in UTC that keeps all of them."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def _kind(row: Mapping[str, Any], window_s: float) -> Kind:
    transactions, total_ns = int(row["transactions"]), int(row["total_ns"])
    shares = tuple(
        Share(
            name=name,
            calls=counters.get("calls", 0),
            time_ns=counters.get("time_ns", 0),
            errors=counters.get("errors", 0),
            hits=counters.get("hits", 0),
            misses=counters.get("misses", 0),
            calls_per_transaction=counters.get("calls", 0) / transactions,
            mean_ns=round(counters.get("time_ns", 0) / transactions),
            share=counters.get("time_ns", 0) / max(total_ns, 1),
            skipped=counters.get("skipped", 0),
        )
        for name, counters in counters_by_component(row).items()
    )
    other_ns = int(row["other_total_ns"])
    p50, p95, p99 = (round(value) for value in row["percentiles_ns"])
    return Kind(
        service=row["service"],
        name=row["name"],
        transactions=transactions,
        per_minute=transactions * 60 / window_s,
        errors=int(row["errors"]),
        p50_ns=p50,
        p95_ns=p95,
        p99_ns=p99,
        max_ns=int(row["max_ns"]),
        mean_ns=round(total_ns / transactions),
        total_ns=total_ns,
        share=total_ns / max(int(row["all_total_ns"]), 1),
        other_ns=other_ns,
        overlap_ns=sum(each.time_ns for each in shares) + other_ns - total_ns,
        cpu_mean_ns=_known(row["cpu_mean_ns"]),
        queue_mean_ns=_known(row["queue_mean_ns"]),
        components=shares,
        status_4xx=int(row["status_4xx"]),
        status_5xx=int(row["status_5xx"]),
    )


def _bill(
    row: Mapping[str, Any],
    depth: int,
    first_ns: int,
    calls: Sequence[Mapping[str, Any]],
    entries: Sequence[Mapping[str, Any]],
    untagged: Sequence[Mapping[str, Any]],
) -> Bill:
    components = tuple(Component(name, **counters) for name, counters in counters_by_component(row).items())
    started_ns, duration_ns = int(row["started_ns"]), int(row["duration_ns"])
    other_ns = duration_ns - min(int(row["covered_ns"]), duration_ns)
    billed = [Statement(*values) for values in _nested(row, "statement", "text calls time_ns errors")]
    statements, logged = beside_statements(billed, entries)
    return Bill(
        span_id=row["span"],
        parent_span_id=row["parent"].replace(_NOBODY, ""),
        depth=depth,
        offset_ns=started_ns - first_ns,
        started_at=iso(started_ns),
        duration_ns=duration_ns,
        other_ns=other_ns,
        overlap_ns=sum(component.time_ns for component in components) + other_ns - duration_ns,
        components=components,
        targets=tuple(
            Target(*values) for values in _nested(row, "target", "component address calls time_ns errors hits misses")
        ),
        statements=statements,
        calls=of_connections(
            beside_calls([kept_call(call, started_ns) for call in calls], entries), untagged, started_ns
        ),
        logged=logged,
        after_response=after_response(row["attributes"]),
        is_error=bool(row["is_error"]),
        sample_probability=row["sample_probability"] or 0.0,  # what is not a number arrives as None
        **{column: row[column] for column in _AS_STORED},
    )


_AS_STORED = (
    "service",
    "name",
    "host",
    "instance",
    "version",
    "environment",
    "user",
    "method",
    "http_status",
    "error_type",
    "kept",
    "queue_ns",
    "cpu_user_ns",
    "cpu_system_ns",
    "peak_rss_growth_bytes",
    "calls_dropped",
    "attributes",
)


def _nested(row: Mapping[str, Any], name: str, columns: str) -> list[tuple[Any, ...]]:
    return list(zip(*(row[f"{name}.{column}"] for column in columns.split()), strict=True))


def _known(mean: float | None) -> int | None:
    return None if mean is None else round(mean)
