"""`walltime show`: all transactions of one trace, with their bills, their kept calls and what the database logged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ...clickhouse.engine import Engine
from ...conversion import from_row
from ...errors import BadParameter, NotStored
from ...format import iso_time, quoted
from ...statements.fingerprint import redacted_text
from ...trace_id import find_trace_id
from ..after_response import after_response
from ..answers import Bill, Statement, Target, Trace
from ..components import Component, counters_by_component, number
from ..kinds import trace as whole_trace_id
from ..queries import Row, run
from ..sampling import sampled
from .kept_calls import kept_call
from .lock_waits import lock_waits
from .slow_log_join import join_calls, join_statements
from .trace_tree import in_order, own_times, owners

MAX_TRANSACTIONS = 500
MAX_CALLS = 10_000
"""Of a trace with more, only so many are shown, and `is_complete` is False."""

CLOCKS_NS = 2_000_000_000
"""The clocks of database and application may differ by this much; it includes fractions of seconds that are cut off."""


def read(engine: Engine, text: str) -> tuple[Trace, str]:
    """
    The trace that a text means, see `find_trace_id`, and the span id in it, or ''.

    Raises:
        BadParameter: No trace id is in the text.
        NotStored: No transaction of the trace is stored, or several traces begin like this.
        EngineUnavailable: The engine cannot answer now.
    """
    try:
        trace_id, span_id = find_trace_id(text)
    except ValueError as error:
        raise BadParameter("trace_id", f"{quoted(text)} is not a trace id", str(error)) from error
    trace_id = whole_trace_id(engine, trace_id)
    trace = show(engine, trace_id)
    if trace is None:
        raise NotStored(
            "trace_id",
            f"no transaction of trace {trace_id} is stored",
            "a transaction is visible about 2 s after its request, until its retention ends",
        )
    return trace, span_id


def show(engine: Engine, trace_id: str) -> Trace | None:
    """
    All transactions of a trace with their bills and kept calls; None when no transaction of it is stored.

    Independent queries run at the same time: it takes up to three of the engine's QUERY_CONNECTIONS.

    Raises:
        EngineUnavailable: The engine cannot answer one of them now.
    """
    with ThreadPoolExecutor(2, "show") as threads:
        reading_kept = threads.submit(_kept, engine, trace_id)
        reading_log = threads.submit(run, engine, "show/slow_queries", trace_id=trace_id, limit=MAX_CALLS)
        reading_waits = threads.submit(lock_waits, engine, trace_id)
        bills = run(engine, "show/transactions", trace_id=trace_id, limit=MAX_TRANSACTIONS + 1)
        spans, untagged = reading_kept.result()
        logged = reading_log.result()
        waits = reading_waits.result()
    if not bills:
        return None
    if not spans and any(row["kept"] for row in bills):  # they may have been stored between the two queries
        spans, untagged = _kept(engine, trace_id)
    is_complete = len(bills) <= MAX_TRANSACTIONS and len(spans) <= MAX_CALLS
    spans = spans[:MAX_CALLS]
    bill_of = {row["span"]: row for row in bills[:MAX_TRANSACTIONS]}
    owner = owners({row["span"]: row["parent"] for row in spans}, bill_of)
    caller = {span: owner.get(row["parent"], "") for span, row in bill_of.items()}
    own_ns = own_times(spans)
    calls: dict[str, list[Row]] = defaultdict(list)
    for row in spans:
        calls[owner[row["span"]]].append({**row, "own_ns": own_ns[row["span"]]} if row["is_derived"] else row)
    entries: dict[str, list[Row]] = defaultdict(list)
    for row in logged:
        entries[row["span"]].append(row)
    first_ns = min(row["started_ns"] for row in bill_of.values())
    return Trace(
        trace_id=trace_id,
        transactions=tuple(
            replace(
                _bill(bill_of[span], depth, first_ns, calls[span], entries[span], untagged),
                lock_waits=tuple(waits.get(span, ())),
            )
            for span, depth in in_order(list(bill_of), caller)
        ),
        spans_elsewhere=len(calls[""]),
        is_complete=is_complete,
    )


def _kept(engine: Engine, trace_id: str) -> tuple[Sequence[Row], Sequence[Row]]:
    """
    The kept spans of this trace, oldest first, and the log entries without a trace id of their connections.

    There are more than MAX_CALLS spans when more are stored.
    """
    spans = run(engine, "show/calls", trace_id=trace_id, limit=MAX_CALLS + 1)
    if any(row["is_derived"] for row in spans):
        derived = [
            {**row, "statement": redacted_text(row["statement"])}
            for row in run(engine, "show/derived_calls", trace_id=trace_id, limit=MAX_CALLS + 1)
        ]
        ours = [row for row in spans if not row["is_derived"]]
        spans = sorted([*ours, *derived], key=lambda row: (row["started_ns"], row["span"]))
    return spans, _untagged(engine, spans[:MAX_CALLS])


def _untagged(engine: Engine, spans: Sequence[Row]) -> Sequence[Row]:
    """The log entries without a trace id on the connections of these calls, at their time."""
    calls = [
        (connection_id, row["started_ns"], row["duration_ns"])
        for row in spans
        if (connection_id := number(row["attributes"].get("walltime.mysql.connection_id", "")))
    ]
    if not calls:
        return ()
    return run(
        engine,
        "show/untagged_slow_queries",
        connections=sorted({connection_id for connection_id, _, _ in calls}),
        since_ns=min(started_ns for _, started_ns, _ in calls) - CLOCKS_NS,
        until_ns=max(started_ns + duration_ns for _, started_ns, duration_ns in calls) + CLOCKS_NS,
        limit=MAX_CALLS,
    )


def _bill(
    row: Row, depth: int, first_ns: int, calls: Sequence[Row], entries: Sequence[Row], untagged: Sequence[Row]
) -> Bill:
    components = tuple(Component(name, **counters) for name, counters in counters_by_component(row).items())
    started_ns, duration_ns = row["started_ns"], row["duration_ns"]
    other_ns = duration_ns - min(row["covered_ns"], duration_ns)
    billed = [from_row(Statement, each) for each in _nested(row, "statement")]
    statements, logged = join_statements(billed, entries)
    kept = [kept_call(call, started_ns) for call in calls]
    return from_row(
        Bill,
        row,
        span_id=row["span"],
        parent_span_id="" if row["parent"] == "0" * 16 else row["parent"],
        depth=depth,
        offset_ns=started_ns - first_ns,
        started_at=iso_time(started_ns),
        other_ns=other_ns,
        overlap_ns=sum(component.time_ns for component in components) + other_ns - duration_ns,
        components=components,
        targets=tuple(from_row(Target, each) for each in _nested(row, "target")),
        statements=statements,
        calls=join_calls(kept, entries, untagged, started_ns),
        logged=logged,
        after_response=after_response(row["attributes"]),
        samples=tuple(sampled([*each.values()][:-2], each["count"], each["time_ns"]) for each in row["sample"]),
        sample_probability=row["sample_probability"] or 0.0,  # None when it is not a number
    )


def _nested(row: Row, name: str) -> list[dict[str, Any]]:
    """The rows of a nested column."""
    columns = {
        column.removeprefix(f"{name}."): values for column, values in row.items() if column.startswith(f"{name}.")
    }
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
