"""The bill as one line of text for logs: `walltime.summary()`, and the setting that logs it for each transaction."""

from __future__ import annotations

import copy
import logging
import re
from typing import TYPE_CHECKING, Final

from walltime.core.bill import Bill
from walltime.core.execution import current
from walltime.core.pieces import joined, without_calls
from walltime.core.transaction import clock
from walltime.errors import guarded

if TYPE_CHECKING:
    from walltime.core.bill import Cell
    from walltime.core.transaction import Transaction

logger = logging.getLogger("walltime.summary")
"""Where `log` writes, at INFO; a logger of its own, so that the application sends it where it wants."""

MAX_COMPONENTS: Final = 12
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@guarded("summary", str)
def summary() -> str:
    """
    Return the bill of the running transaction up to now in one line; outside of any, ''.

        GET /product/{id} 200 48.2 ms: mysql.query 31.0 ms in 9 calls, memcache.get 3.1 ms in 12 calls (4 of 12 keys
        missed), other 14.1 ms

    Adding it up costs about 0.3 µs a call. The longest 12 components are named, the others summed up.
    """
    execution = current()
    if execution is None or execution.transaction.duration_ns:  # what has ended is the export thread's
        return ""
    transaction = execution.transaction
    calls = transaction.calls[:]
    bill = Bill()
    if transaction.bill is not None:  # what was added up early, of more than 2,000 calls
        bill = copy.copy(transaction.bill)
        bill.lines, bill.statements = copy.deepcopy(bill.lines), {}
    bill.cover(calls[transaction.kept_calls :], transaction.has_branches)
    if transaction.has_pieces:
        still_open = [] if transaction.bill is None else transaction.bill.still_open
        calls = without_calls(joined([*calls, *still_open]))
    bill.add(calls)
    return line(transaction, bill, clock() - transaction.started_ns)


def log(transaction: Transaction, bill: Bill) -> None:
    """Log the line of a finished transaction with its request id; runs in the export thread."""
    if logger.isEnabledFor(logging.INFO):
        ids = {
            "request_id": transaction.request_id,
            "trace_id": transaction.request_id,
            "span_id": format(transaction.ids.span_id, "016x"),
        }
        logger.info("%s [%s]", line(transaction, bill, transaction.duration_ns), transaction.request_id, extra=ids)


def line(transaction: Transaction, bill: Bill, elapsed_ns: int) -> str:
    """Return the line of a transaction whose calls are added up."""
    parts = [_UNPRINTABLE.sub("?", transaction.name)]
    if transaction.http_status:
        parts.append(str(transaction.http_status))
    parts.append(_ms(elapsed_ns))
    if transaction.is_error:
        parts.append(f"failed ({_UNPRINTABLE.sub('?', transaction.error_type)})")
    longest = sorted(bill.components.items(), key=lambda item: -item[1].time_ns)
    items = [_item(name, cell) for name, cell in longest[:MAX_COMPONENTS]]
    if rest := longest[MAX_COMPONENTS:]:
        items.append(f"{len(rest)} more {_ms(sum(cell.time_ns for _, cell in rest))}")
    items.append(f"other {_ms(max(0, elapsed_ns - bill.covered_ns))}")
    overlap_ns = sum(cell.time_ns for _, cell in longest) - bill.covered_ns
    if overlap_ns > 0:
        items.append(f"less {_ms(overlap_ns)} at the same time")
    if transaction.cpu_user_ns is not None and transaction.cpu_system_ns is not None:
        items.append(f"CPU {_ms(transaction.cpu_user_ns + transaction.cpu_system_ns)}")
    if transaction.queue_ns is not None:
        items.append(f"queue {_ms(transaction.queue_ns)} before")
    return f"{' '.join(parts)}: {', '.join(items)}"


def _item(component: str, cell: Cell) -> str:
    notes = [
        words
        for words in (
            f"{cell.misses} of {_plural(cell.keys, 'key')} missed" if cell.misses else "",
            _plural(cell.not_stored, "value") + " not stored" if cell.not_stored else "",
            _plural(cell.errors, "error") if cell.errors else "",
            _plural(cell.deadlocks, "deadlock") if cell.deadlocks else "",
            _plural(cell.lock_timeouts, "lock timeout") if cell.lock_timeouts else "",
            f"{cell.skipped} skipped" if cell.skipped else "",
        )
        if words
    ]
    cost = f"{_UNPRINTABLE.sub('?', component)} {_ms(cell.time_ns)} in {_plural(cell.calls, 'call')}"
    return f"{cost} ({', '.join(notes)})" if notes else cost


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.1f} ms" if ns >= 100_000 else f"{ns / 1e6:.3f} ms"
