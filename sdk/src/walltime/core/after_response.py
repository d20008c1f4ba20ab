"""
Calls of a request after its response: the end of `yield` dependencies, `close` of a WSGI body, background tasks.

The transaction's duration ended with the response. Until its application returns (at most
`exporter.LONGEST_AFTER_RESPONSE_S`), calls are counted here, apart from the bill, and exported beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from walltime.core.bill import Bill
from walltime.core.call import text_bytes
from walltime.core.components import CONTAINER_LINES
from walltime.core.pieces import joined, without_calls

if TYPE_CHECKING:
    from walltime.core.call import Call, Line

MAX_CALLS: Final = 1000
"""Calls kept one by one; more are added up."""
MAX_TEXT_BYTES: Final = 4 * 1024 * 1024
"""Memory of the texts of calls kept one by one (`text_bytes`); calls beyond it are added up."""
LOOK_EVERY: Final = 100
"""Calls between two looks at that memory."""


class After:
    """The calls of one transaction after its response."""

    __slots__ = ("_bill", "calls", "nested_ns")

    def __init__(self, nested_ns: int) -> None:
        """`nested_ns`: the transaction's value at the end of its response."""
        self.calls: list[Call] = []
        self.nested_ns = nested_ns
        self._bill = Bill()
        self._bill.room_bytes = 0  # its statements are not exported

    def add_up(self) -> Bill:
        """Return the bill of all calls, after the last one; the latest calls stay for the detail."""
        self.calls[:] = without_calls(joined([*self.calls, *self._bill.still_open]))
        self._bill.still_open = []
        self._bill.add(self.calls)
        return self._bill

    def add(self, call: Call) -> None:
        """Add a call. When two threads reach a limit, one of them adds up."""
        self.calls.append(call)
        count = len(self.calls)
        if count > MAX_CALLS or (count % LOOK_EVERY == 0 and text_bytes(self.calls) > MAX_TEXT_BYTES):
            self.add_up_early()

    def add_up_early(self) -> None:
        """Keep only the totals of the calls so far."""
        early, self.calls = self.calls, []
        self._bill.add_early(early, has_pieces=True)


class _Execution(Protocol):
    nested_ns: int

    @property
    def transaction(self) -> _Transaction: ...


class _Transaction(_Execution, Protocol):
    is_over: bool
    started_ns: int
    duration_ns: int
    after: After | None
    calls: list[Call]


def record_after_response(
    execution: _Execution, line: Line, subject: object, started_ns: int, ended_ns: int, outer_ns: int,
    failure: str | None, requested: int, matched: int,
) -> bool:  # fmt: skip
    """
    Record a call that ended after the response; False when the transaction is over.

    When the call began before the end of the response, only the time after that end counts here. A container that did
    counts on the bill, up to that end.
    """
    transaction = execution.transaction
    if transaction.is_over or not transaction.duration_ns:
        return False
    after = transaction.after
    response_ended_ns = transaction.started_ns + transaction.duration_ns
    if line in CONTAINER_LINES and started_ns < response_ended_ns:
        at_end: After | _Execution = execution if after is None or execution is not transaction else after
        own_ns = max(0, response_ended_ns - started_ns - (at_end.nested_ns - outer_ns))
        transaction.calls.append((line, subject, started_ns, response_ended_ns, own_ns, failure, requested, matched))
        execution.nested_ns += own_ns
        if at_end is after:
            at_end.nested_ns += own_ns
        return True
    if after is None:
        after = transaction.after = After(transaction.nested_ns)
    nested_ns = execution.nested_ns
    own_ns = ended_ns - started_ns + outer_ns - nested_ns
    execution.nested_ns += own_ns
    if started_ns < response_ended_ns:
        started_ns = response_ended_ns
        later_ns = max(0, ended_ns - started_ns)
        if execution is transaction:
            later_ns = max(0, later_ns - (nested_ns - after.nested_ns))
        else:  # how much was nested in it after the response is unknown
            later_ns = min(later_ns, max(0, own_ns))
        if execution is transaction:
            after.nested_ns += own_ns - later_ns
        own_ns = later_ns
    after.add((line, subject, started_ns, max(started_ns, ended_ns), own_ns, failure, requested, matched))
    return True
