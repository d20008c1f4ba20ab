"""
The transaction and its calls: what runs inside every request. Standard library only.

A wrapped client looks up `current()`, reads the clock twice and appends one tuple (`Call`) with `record`. Adding up,
naming, redacting and encoding happen later, in the export thread.

    client call ─► current() ─► None: straight through, counted by `outside`
                              └► execution context: clock, call, clock, record ─► transaction.calls
"""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from walltime import native
from walltime.core.after_response import LOOK_EVERY, MAX_TEXT_BYTES, record_after_response
from walltime.core.bill import Bill
from walltime.core.call import text_bytes
from walltime.core.caller import LONG_NS, MAX_NOTED, find, is_located
from walltime.core.components import bits, subtract_branches
from walltime.core.pieces import joined, without_calls
from walltime.errors import contain
from walltime.redaction.sanitize import text, value_of
from walltime.settings.settings import DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from weakref import ref

    from walltime.core.after_response import After
    from walltime.core.call import Call, Line
    from walltime.core.caller import Place
    from walltime.core.event_loop import LoopTimes
    from walltime.core.ids import Ids
    from walltime.settings.settings import Settings

clock = time.perf_counter_ns
"""Monotonic nanoseconds; the only clock durations come from."""

MAX_CALLS: Final = 1000
"""Calls that a transaction keeps one by one. Of later ones only the totals remain."""
MANY_CALLS: Final = 2 * MAX_CALLS
MAX_ANNOTATIONS: Final = 64
Comment: TypeAlias = "tuple[str, bytes, int]"
"""An SQL comment as text and as bytes, and the length below which a statement gets it at its end (`sql_comment`)."""

adding = Lock()
"""Held by the thread that adds calls up early; the others go on without waiting. A forked child makes its own."""


def after_fork() -> None:
    """Replace the lock: in the parent, a thread that the child does not have may hold it."""
    global adding  # noqa: PLW0603
    adding = Lock()
    outside_calls.clear()


outside_calls: dict[str, int] = {}
"""Number of calls outside of any transaction, by library; `late` are calls that ended after their transaction."""

at_many_outside: Callable[[], None] | None = None
"""Called after each tenth of them (unbilled.py)."""


def outside(library: str) -> None:
    """Count a call outside of any transaction. There is no lock: when threads race, a call may be missing."""
    count = outside_calls[library] = outside_calls.get(library, 0) + 1
    if not count % 10 and at_many_outside is not None and library != "late":
        at_many_outside()


class Transaction:
    """
    One request handled by the service, from the call into our middleware until the response body is closed.

    As an execution context it belongs to one thread or task; work handed to another is recorded through a `Branch`.
    """

    __slots__ = (
        "_traceparent", "after", "after_error_type", "after_ns", "annotations", "bill", "calls", "cpu_system_ns",
        "cpu_throttled_ns", "cpu_user_ns", "duration_ns", "error_type", "handed", "has_branches", "has_pieces",
        "home", "http_status", "ids", "in_call", "is_error", "is_forced", "is_over", "kept_calls", "kind", "lent",
        "locate_ns", "look_at", "loop", "method", "name", "nested_ns", "open_components", "outgoing",
        "outgoing_context", "outgoing_lines", "owner", "parent_span_id", "path", "peak_rss_growth_bytes", "places",
        "queue_ns", "samples", "schedstat", "scheme", "session", "settings", "sql_comment", "started_at_ns",
        "started_ns", "statement", "text_bytes", "thread", "user",
    )  # fmt: skip

    def __init__(
        self, name: str, kind: str, ids: Ids, parent_span_id: int, started_ns: int, settings: Settings = DEFAULTS
    ) -> None:
        self.name = text(name)
        self.kind = kind
        self.ids = ids
        self.parent_span_id = parent_span_id
        self.settings = settings
        """The settings when it began; a later `configure` has no effect on it."""
        self.started_at_ns = time.time_ns()
        self.started_ns = started_ns
        self.duration_ns = 0
        """From its start to the end of its response; 0 before that end."""
        self.after: After | None = None
        self.after_ns = 0
        """From the end of the response until its application returned."""
        self.is_over = False
        """The exporter has it, and it no longer changes: `execution.close`."""
        self.handed: set[ref[Any]] = set()
        """What others got of it and what ends with it, as weak references: `execution.hand_out`."""
        self.lent: Any = None
        """The context of OpenTelemetry that is current in it."""
        self.nested_ns = 0
        """
        Exclusive time of all calls recorded in this execution context so far; it only grows. A wrapper reads it before
        its call and passes it to `record`; the growth is the time of the nested calls. A wrapper that fails before
        `record` leaves nothing to undo.
        """
        self.open_components = bits(settings.disabled_components) if settings.disabled_components else 0
        """Components of frameworks of which no further call is recorded, as `BITS`: in progress, or switched off."""
        self.statement: str | bytes | None = None
        """SQL with placeholders while a cursor executes it; below the cursor, the values are in the text."""
        self.home = self.owner = self.thread = 0
        """As an execution context: its thread, its task and `home` without a task, else 0 (core/execution.py)."""
        self.calls: list[Call] = []
        self.kept_calls = 0
        """Calls at the beginning of `calls` that stay when the others are added up early; 0 before that."""
        self.look_at = LOOK_EVERY
        """Number of calls at which `make_room` looks at their memory."""
        self.text_bytes = 0
        """Memory of the texts of the calls that were looked at."""
        self.places: dict[int, Place] | None = None
        """Start of a call → the application's line that made it, for calls that were located."""
        self.locate_ns = 0 if ids.trace_flags & 1 else LONG_NS
        """Calls of at least this duration are located; 0 when all calls will be kept."""
        self.samples: Any = None
        """What the sampler saw of it: `sampling.samples.Samples`."""
        self.has_branches = self.has_pieces = self.in_call = False
        """Some calls were recorded in pieces and have to be joined; the core in C is in a call."""
        self.bill: Bill | None = None
        self.annotations: dict[str, str | int | float | bool] | None = None
        self.user = self.session = self.method = self.path = self.scheme = ""
        self.error_type = self.after_error_type = self._traceparent = ""
        self.is_error = self.is_forced = False
        self.http_status = self.cpu_throttled_ns = self.peak_rss_growth_bytes = 0
        self.queue_ns: int | None = None
        self.cpu_user_ns: int | None = None
        self.cpu_system_ns: int | None = None
        self.schedstat: tuple[bytes, bytes] | None = None
        """The kernel's text at its start and its end (core/cpu.py)."""
        self.loop: LoopTimes | None = None
        """Its time on the asyncio event loop."""
        self.sql_comment: Comment | None = None
        self.outgoing: list[tuple[str, str]] | None = None
        self.outgoing_context: object = None
        self.outgoing_lines: list[tuple[bytes, bytes]] | None = None
        """`outgoing` as HTTP/1 sends it to any host."""

    @property
    def transaction(self) -> Transaction:
        return self

    @native.method
    def record(
        self, line: Line, subject: object, started_ns: int, ended_ns: int, outer_ns: int, failure: str | None = None,
        requested: int = 0, matched: int = 0,
    ) -> None:  # fmt: skip
        """Record one finished call; 0.2 µs. `outer_ns`: the value of `nested_ns` when the call began."""
        if self.duration_ns:  # its response ended while this call ran, or before
            if not record_after_response(
                self, line, subject, started_ns, ended_ns, outer_ns, failure, requested, matched
            ):
                outside("late")
            return
        elapsed_ns = ended_ns - started_ns
        nested_ns = outer_ns + elapsed_ns
        own_ns = nested_ns - self.nested_ns
        calls = self.calls
        calls.append((line, subject, started_ns, ended_ns, own_ns, failure, requested, matched))
        self.nested_ns = nested_ns
        if failure is not None or elapsed_ns >= self.locate_ns:
            self.locate(line, started_ns)
        if len(calls) >= self.look_at:
            self.make_room()

    def locate(self, line: Line, started_ns: int) -> None:
        """Keep the application's line that made this call, when it is an SQL call."""
        if is_located(line):
            places = self.places
            if places is None:
                places = self.places = {}
            if len(places) < MAX_NOTED and (place := find(2)) is not None:
                places[started_ns] = place

    def make_room(self) -> None:
        """
        Add calls up early, beyond MANY_CALLS or MAX_TEXT_BYTES of texts. The first ones stay for the detail.

        Branches in other threads may append at the same time and come here too: one adds up, the others go on.
        """
        if not adding.acquire(blocking=False):
            return
        try:
            calls, end = self.calls, len(self.calls)
            looked_at = self.look_at - LOOK_EVERY
            self.text_bytes += text_bytes(calls[looked_at:end])
            self.look_at = end + LOOK_EVERY
            if end < MANY_CALLS and self.text_bytes <= MAX_TEXT_BYTES:
                return
            if self.bill is None:
                self.kept_calls = min(MAX_CALLS, looked_at)
                self.bill = Bill()
                self.bill.cover(calls[: self.kept_calls], self.has_branches)
            kept = self.kept_calls
            early = calls[kept:end]
            del calls[kept:end]
            self.text_bytes, self.look_at = text_bytes(calls[:kept]), kept + LOOK_EVERY
            self.bill.cover(early, self.has_branches)
            self.bill.add_early(early, self.has_pieces)
        finally:
            adding.release()

    def add_up(self, *, detail: bool) -> Bill:
        """Return the bill of all calls after the end; `detail` is False when the calls are not kept one by one."""
        bill = self.bill
        calls = self.calls
        if self.samples is not None:
            self.samples.locate(calls)  # before pieces are joined: what is between them is in no call
        if bill is None:
            bill = self.bill = Bill()
            if self.has_branches:
                bill.cover(calls, has_branches=True)
        else:
            bill.cover(calls[self.kept_calls :], self.has_branches)
        if self.has_branches:
            subtract_branches(calls)
        if self.has_pieces:
            calls[:] = without_calls(joined([*calls, *bill.still_open]))
            bill.still_open = []
        bill.add(calls, detail=detail)
        if not self.has_branches:
            bill.covered_ns = bill.time_ns  # no calls overlapped; this also holds when adding up early has failed
        return bill

    def set_name(self, name: str) -> None:
        self.name = text(name)
        self.sql_comment = None  # it contains the route

    def set_user(self, user: str) -> None:
        self.user = text(user)
        self.sql_comment = None  # it may contain the user

    def set_session(self, session: str) -> None:
        self.session = text(session)

    def annotate(self, key: str, value: str | int | float | bool) -> None:
        key = text(key)
        if self.annotations is None:
            self.annotations = {}
        if len(self.annotations) < MAX_ANNOTATIONS or key in self.annotations:
            self.annotations[key] = value_of(value)
            if key in self.settings.sql_comment_keys:
                self.sql_comment = None

    def fail(self, error_type: str) -> None:
        self.is_error = True
        self.error_type = text(error_type)

    def keep(self) -> None:
        self.is_forced = True
        self.locate_ns = 0
        try:
            self.mark_sampled()
        except Exception as ours:  # the calls are kept all the same
            contain("keep", ours)

    def mark_sampled(self) -> None:
        """Set the sampled flag for the services it calls from now on: its own detail was requested."""
        ids = self.ids
        if not ids.trace_flags & 1:
            self.ids = ids._replace(trace_flags=ids.trace_flags | 1)
            self._traceparent = ""
            self.sql_comment = None
            self.outgoing = self.outgoing_lines = None

    @property
    def traceparent(self) -> str:
        """The W3C header that names its own span; built at first use."""
        if not self._traceparent:
            trace_id, span_id, flags, _ = self.ids
            self._traceparent = f"00-{trace_id:032x}-{span_id:016x}-{flags:02x}"
        return self._traceparent

    @property
    def request_id(self) -> str:
        """The trace id in 32 hexadecimal digits, as in the SQL comments and for `walltime show`."""
        return format(self.ids.trace_id, "032x")
