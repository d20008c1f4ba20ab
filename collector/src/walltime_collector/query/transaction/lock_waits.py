"""Reads the waits for locks of a trace, and gives them to its transactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ...clickhouse.engine import Engine
from ...conversion import from_row
from ...format import iso_time
from ..lock_waits import LockWait
from ..queries import Row, run
from .lock_holders import with_holders

MAX_WAITS = 1_000
_NONE = "0" * 32


def lock_waits(engine: Engine, trace_id: str) -> Mapping[str, Sequence[LockWait]]:
    """
    The waits by the span id of the transaction that waited or held the lock, oldest first.

    Raises:
        EngineUnavailable: No answer.
    """
    found: dict[str, list[LockWait]] = defaultdict(list)
    rows = with_holders(engine, run(engine, "show/lock_waits", trace_id=trace_id, limit=MAX_WAITS))
    traces = sorted({row[f"{side}_trace"] for row in rows for side in ("waiter", "holder")})
    stored = run(engine, "show/kinds", traces=traces) if rows else ()
    kinds = {(row["trace"], row["span"]): (str(row["service"]), str(row["name"])) for row in stored}
    for row in sorted(rows, key=lambda row: (row["started_ns"], row["connection_id"])):
        for is_holder, mine in enumerate(("waiter", "holder")):
            # of a deadlock each transaction has its own row, in which it waits
            if row[f"{mine}_trace"] == trace_id and not (is_holder and row["sort"] == "deadlock"):
                found[row[f"{mine}_span"]].append(_of_side(row, kinds, is_holder=bool(is_holder)))
    return found


def _of_side(row: Row, kinds: Mapping[tuple[str, str], tuple[str, str]], *, is_holder: bool) -> LockWait:
    other, prefix = ("waiter", "") if is_holder else ("holder", "holder_")
    trace_id = row[f"{other}_trace"]
    service, name = kinds.get((trace_id, row[f"{other}_span"]), ("", ""))
    return from_row(
        LockWait,
        row,
        is_holder=is_holder,
        started_at=iso_time(row["started_ns"]),
        other_connection_id=row[f"{prefix}connection_id"],
        other_trace_id="" if trace_id == _NONE else trace_id,
        other_span_id="" if trace_id == _NONE else row[f"{other}_span"],
        other_service=service or row[f"{prefix}service"],
        other_name=name or row[f"{prefix}route"],
    )
