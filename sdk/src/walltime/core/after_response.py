"""
What a request does after its response: the end of `yield` dependencies, `close` of a WSGI body, tasks that go on.

The transaction's duration ended with the response. Until its application returns (at most
`exporter.LONGEST_AFTER_RESPONSE_S`), calls are kept here, apart from the bill, and go out beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from walltime.core.bill import Bill
from walltime.core.pieces import joined, without_calls

if TYPE_CHECKING:
    from walltime.core.call import Call

MAX_CALLS: Final = 1000
"""Calls that wait one by one; more are added up."""


class After:
    """The calls of one transaction after its response."""

    __slots__ = ("_bill", "calls", "nested_ns")

    def __init__(self, nested_ns: int) -> None:
        """`nested_ns`: the transaction's own, as it was at the end of its response."""
        self.calls: list[Call] = []
        self.nested_ns = nested_ns
        self._bill = Bill()

    def add_up(self) -> Bill:
        """Return the bill of all calls, when no more can come; the last of them stay for the detail."""
        self.calls[:] = without_calls(joined([*self.calls, *self._bill.still_open]))
        self._bill.still_open = []
        self._bill.add(self.calls)
        return self._bill

    def add(self, call: Call) -> None:
        """Keep a call. Of two threads that come at the limit, one adds up what is there."""
        self.calls.append(call)
        if len(self.calls) > MAX_CALLS:
            early, self.calls = self.calls, []
            self._bill.add_early(early, has_pieces=True)
