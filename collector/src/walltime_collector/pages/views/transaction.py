"""One transaction: its bill, its place among others of its kind, its calls, and the other transactions of its trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from ...errors import BadParameter, NotStored
from ...format import printable, quoted
from ...query.answers import Bill, Call, Trace
from ...query.components import family
from ...query.names import shown
from ...query.transaction import wording
from ...query.transaction.place import Place, place
from ...query.transaction.show import read
from ..request import PageRequest

PARAMS = {"span": "", "calls": ""}
"""`span`: of the transaction, also its beginning; `calls`: the number of the first call in the table."""
TABLE_CALLS = 200
"""The table has so many calls at a time; the waterfall has all."""


@dataclass(frozen=True)
class Transaction:
    """The view model."""

    trace: Trace
    span_id: str
    """Of the transaction that is shown; the others of the trace are only listed."""
    place: Place
    first_call: int
    """The first one in the table."""

    @cached_property
    def bill(self) -> Bill:
        """The transaction that is shown."""
        return wording.choose(self.trace, self.span_id)

    @cached_property
    def whole_ns(self) -> int:
        """From the start of the first transaction of the trace to the end of the last one."""
        return max(bill.offset_ns + bill.duration_ns for bill in self.trace.transactions) or 1

    @property
    def table_calls(self) -> Sequence[tuple[int, Call]]:
        """The calls in the table, numbered from 1."""
        return list(islice(enumerate(self.bill.calls, 1), self.first_call - 1, self.first_call - 1 + TABLE_CALLS))

    @property
    def waterfall(self) -> dict[str, Any]:
        """What static/transaction/waterfall.js draws."""
        return waterfall(self.bill)


def transaction(request: PageRequest) -> Transaction:
    """Answer the view."""
    trace, span_of_text = read(request.engine, request.path["trace"])
    try:
        bill = wording.choose(trace, request.params["span"].strip().lower())
    except LookupError as error:
        raise NotStored(
            "span", str(error.args[0]), "leave out `span` for the first transaction of the trace"
        ) from error
    if not request.params["span"] and any(each.span_id == span_of_text for each in trace.transactions):
        bill = wording.choose(trace, span_of_text)
    first = request.params["calls"] or "1"
    if not (first.isascii() and first.isdecimal() and len(first) < 6 and int(first)):
        raise BadParameter("calls", f"{quoted(first)} is not the number of a call", "use 1 or more")
    return Transaction(trace, bill.span_id, place(request.engine, bill), int(first))


def waterfall(bill: Bill) -> dict[str, Any]:
    """The calls in columns; each text is there once, and calls have its number."""
    texts: dict[str, int] = {"": 0}
    names: dict[tuple[str, str], int] = {}

    def number(text: str) -> int:
        return texts.setdefault(printable(text), len(texts))

    columns: dict[str, list[int]] = {
        "name": [names.setdefault(_named(call), len(names)) for call in bill.calls],
        "at": [call.offset_ns for call in bill.calls],
        "took": [call.duration_ns for call in bill.calls],
        "own": [call.own_ns for call in bill.calls],
        "text": [number(call.text) for call in bill.calls],
        "address": [number(call.address) for call in bill.calls],
        "result": [number(call.result) for call in bill.calls],
        "error": [number(call.error) for call in bill.calls],
        "source": [number(call.source) for call in bill.calls],
        "connection": [call.connection_id for call in bill.calls],
    }
    return {
        "duration": bill.duration_ns,
        "names": list(names),
        "texts": list(texts),
        "calls": columns,
        "server": {
            at: [(each.text, each.severity) for each in wording.server_side(call.server)]
            for at, call in enumerate(bill.calls)
            if call.server
        },
    }


def _named(call: Call) -> tuple[str, str]:
    """A span of another instrumentation has no component."""
    return (printable(call.component), family(call.component)) if call.component else (shown(call.name), "other")
