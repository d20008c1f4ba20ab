"""
Everything that runs inside a request: the clock, the context, the transaction and its calls. Standard library only.

A wrapped client looks up `current()`, reads the clock twice and leaves one tuple (`Call`) with `record`. Adding up,
naming, redacting and encoding happen later, in the export thread.

    client call ─► current() ─► None: straight through
                              └► transaction: clock, call, clock, record ─► transaction.calls
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

from walltime.bill import Bill

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

    from walltime.call import Call, Target

clock = time.perf_counter_ns
"""Monotonic nanoseconds; the only clock durations come from."""

MAX_CALLS: Final = 1000
"""Calls a transaction keeps one by one; beyond, they are added up early and only the totals remain."""


class Strand(Protocol):
    """What a wrapped client sees of the transaction it runs in."""

    nested_ns: int
    """Time of the measured calls that ended inside the call in progress; each call saves, zeroes and restores it."""
    statement: str | bytes | None
    """SQL as the application wrote it, while its cursor executes it; below the cursor the values are in the text."""

    @property
    def transaction(self) -> Transaction: ...

    def record(
        self,
        component: str,
        target: Target | None,
        subject: object,
        started_ns: int,
        ended_ns: int,
        outer_ns: int,
        failure: str | None = None,
        asked: int = 0,
        found: int = 0,
    ) -> None: ...


class Transaction:
    """
    One request handled by the service, from the call into our middleware until the response body is closed.

    Not for two threads at once: work handed to another thread is recorded there only when the context went along.
    """

    __slots__ = (
        "annotations",
        "bill",
        "calls",
        "cpu_system_ns",
        "cpu_user_ns",
        "duration_ns",
        "error_type",
        "http_status",
        "is_error",
        "kind",
        "method",
        "name",
        "nested_ns",
        "outgoing",
        "outgoing_context",
        "parent_span_id",
        "path",
        "peak_rss_growth_bytes",
        "queue_ns",
        "scheme",
        "span_context",
        "sql_comment",
        "started_at_ns",
        "started_ns",
        "statement",
        "user",
    )

    def __init__(self, name: str, kind: str, span_context: SpanContext, parent_span_id: int, started_ns: int) -> None:
        self.name = name
        self.kind = kind
        self.span_context = span_context
        self.parent_span_id = parent_span_id
        self.started_at_ns = time.time_ns()
        self.started_ns = started_ns
        self.duration_ns = 0
        self.nested_ns = 0
        self.statement: str | bytes | None = None
        self.calls: list[Call] = []
        self.bill: Bill | None = None
        self.annotations: dict[str, str | int | float | bool] | None = None
        self.user = ""
        self.method = ""
        self.path = ""
        self.scheme = ""
        self.http_status = 0
        self.is_error = False
        self.error_type = ""
        self.queue_ns: int | None = None
        self.cpu_user_ns: int | None = None
        self.cpu_system_ns: int | None = None
        self.peak_rss_growth_bytes = 0
        self.sql_comment: bytes | None = None
        self.outgoing: list[tuple[str, str]] | None = None
        self.outgoing_context: object = None

    @property
    def transaction(self) -> Transaction:
        return self

    def record(
        self,
        component: str,
        target: Target | None,
        subject: object,
        started_ns: int,
        ended_ns: int,
        outer_ns: int,
        failure: str | None = None,
        asked: int = 0,
        found: int = 0,
    ) -> None:
        """
        Remember one finished call; 0.2 µs.

        Args:
            outer_ns: `nested_ns` as it was when the call began (the caller set it to 0 then).
        """
        if self.duration_ns:  # it ended while this call ran: what is handed over no longer changes
            return
        elapsed_ns = ended_ns - started_ns
        self.calls.append(
            (
                component,
                target,
                subject,
                started_ns,
                ended_ns,
                elapsed_ns - self.nested_ns,
                failure,
                asked,
                found,
            )
        )
        self.nested_ns = outer_ns + elapsed_ns
        if len(self.calls) >= 2 * MAX_CALLS:
            self._add_up_early()

    def _add_up_early(self) -> None:
        # The first MAX_CALLS stay for the detail; what came after is only in the totals from here on.
        if self.bill is None:
            self.bill = Bill()
        self.bill.add(self.calls[MAX_CALLS:], detail=False)
        del self.calls[MAX_CALLS:]

    def set_name(self, name: str) -> None:
        """Name the transaction by its route, `GET /product/{id}`: few distinct names, no ids or user input in them."""
        self.name = name
        self.sql_comment = None  # it says the route

    def set_user(self, user: str) -> None:
        """Say who it was for. Goes out as it is, as `user.id`: give an id or a hash, not a person's name."""
        self.user = user

    def annotate(self, key: str, value: str | int | float | bool) -> None:
        """Attach a fact of the application, such as ("cart.items", 3): its last value, of at most 64 keys."""
        if self.annotations is None:
            self.annotations = {}
        if len(self.annotations) < 64 or key in self.annotations:
            self.annotations[key] = value

    def fail(self, error_type: str) -> None:
        """Mark the transaction as failed; `error_type` is a word such as an exception's class."""
        self.is_error = True
        self.error_type = error_type

    @property
    def request_id(self) -> str:
        """The trace id, 32 hexadecimal digits: what the SQL comments carry and `walltime show` takes."""
        return format(self.span_context.trace_id, "032x")


class Inside:
    """
    The strand inside a call that already counts as a whole, such as the `SET NAMES` of a connect.

    Calls made here are part of that call: they record nothing, and their SQL still carries the transaction's comment.
    """

    __slots__ = ("nested_ns", "statement", "transaction")

    def __init__(self, transaction: Transaction) -> None:
        self.nested_ns = 0
        self.statement: str | bytes | None = None
        self.transaction = transaction

    def record(self, *_call: object, **_more: object) -> None:
        """Forget it: the call around it is the one that is billed."""


strand: ContextVar[Strand | None] = ContextVar("walltime_strand", default=None)
current = strand.get
"""The strand of the running transaction, or None; 10 ns."""
