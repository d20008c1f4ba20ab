"""The typed answers: what the queries return, the API sends as JSON and the commands read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from .after_response import AfterResponse
from .components import Component, Sums
from .lock_waits import LockWait
from .sampling import Sampled
from .server_side import ServerSide

Ranking = Literal["total", "mean", "p50", "p95", "p99", "max", "transactions", "errors"]
"""What `top` can be ordered by, largest first."""
RANKINGS: tuple[Ranking, ...] = get_args(Ranking)


@dataclass(frozen=True, kw_only=True)
class Share(Sums):
    """What one component costs one kind. The mean is per transaction, the other numbers are sums over the window."""

    name: str
    calls_per_transaction: float
    mean_ns: int
    share: float
    """Of the kind's total time; the shares of the components and `other`, less the overlap, are 1."""
    skipped: int = 0
    """Calls that were not made, because their server was known to be dead."""


@dataclass(frozen=True)
class Kind:
    """All transactions of one service and name in the window. Percentiles are estimates (t-digest), sums are exact."""

    service: str
    name: str
    transactions: int
    per_minute: float
    errors: int
    p50_ns: int
    p95_ns: int
    p99_ns: int
    max_ns: int
    mean_ns: int
    total_ns: int
    share: float
    """Of the time of all kinds in the window, also those below the limit."""
    other_ns: int
    """Total time in no component."""
    overlap_ns: int
    """Total time counted twice because calls ran at once: components + other − overlap = total."""
    cpu_mean_ns: int | None
    """Per transaction, over those whose CPU time is known; None when it is known of none."""
    queue_mean_ns: int | None
    components: tuple[Share, ...]
    status_4xx: int = 0
    """Transactions answered with 400 to 499: no failure of the service, but often much shorter than the others."""
    status_5xx: int = 0
    cpu_wait_mean_ns: int | None = None
    """Waiting for a CPU, over those where it is known."""
    loop_wait_mean_ns: int | None = None
    """Waiting for the asyncio event loop."""


@dataclass(frozen=True)
class Top:
    """The kinds that take the time, ranked."""

    since: str
    until: str
    window_s: float
    """The time of the rates: from `since`, or from the first transaction ever stored if that is later, until now."""
    by: str
    service: str
    all_kinds: int
    transactions: int
    errors: int
    total_ns: int
    kinds: tuple[Kind, ...]
    services: tuple[str, ...] = ()
    """All stored services, when there is nothing to rank."""


@dataclass(frozen=True, kw_only=True)
class Target(Sums):
    """A component on one server."""

    component: str
    address: str


@dataclass(frozen=True)
class Logged:
    """A statement of the transaction that is only in the database's log, without its literals."""

    text: str
    server: ServerSide


@dataclass(frozen=True)
class Statement:
    """One statement template and what it cost this transaction."""

    text: str
    calls: int
    time_ns: int
    errors: int
    server: ServerSide | None = None


@dataclass(frozen=True)
class Call:
    """One call whose detail was kept, or a span of another instrumentation inside the transaction."""

    component: str
    """Empty for a span that is not Walltime's."""
    name: str
    offset_ns: int
    """From the start of its transaction; negative when the clock of another machine is behind."""
    duration_ns: int
    own_ns: int
    address: str
    text: str
    """The statement, the key, or the URL."""
    result: str
    error: str
    source: str = ""
    """The place in the application: `shop/views.py:42 product`."""
    connection_id: int = 0
    """MySQL's connection id; 0 when unknown."""
    server: ServerSide | None = None
    """Present when it is certain which log entry belongs to this call."""


@dataclass(frozen=True)
class Bill:
    """One transaction: Σ components' `time_ns` + `other_ns` − `overlap_ns` = `duration_ns`, to the nanosecond."""

    span_id: str
    parent_span_id: str
    """Of the calling span; empty without one."""
    depth: int
    """In the tree of its trace."""
    offset_ns: int
    """From the start of the first transaction of the trace."""
    started_at: str
    duration_ns: int
    service: str
    name: str
    host: str
    instance: str
    version: str
    environment: str
    user: str
    method: str
    http_status: int
    is_error: bool
    error_type: str
    kept: str
    """Why the calls were kept: random, slow, error, forced, upstream; empty when they were not."""
    sample_probability: float
    queue_ns: int | None
    cpu_user_ns: int | None
    cpu_system_ns: int | None
    cpu_wait_ns: int | None
    """Its thread could run and had no CPU; None when unknown."""
    cpu_throttled_ns: int
    """The part of `cpu_wait_ns` for which the CPU quota of its container was used up, at most."""
    loop_run_ns: int | None
    """asyncio: in the steps of its task."""
    loop_wait_ns: int | None
    """asyncio: a step was ready and the event loop was busy; an estimate."""
    peak_rss_growth_bytes: int
    other_ns: int
    overlap_ns: int
    calls_dropped: int
    components: tuple[Component, ...]
    targets: tuple[Target, ...]
    statements: tuple[Statement, ...]
    calls: tuple[Call, ...]
    attributes: Mapping[str, str]
    logged: tuple[Logged, ...] = ()
    after_response: AfterResponse | None = None
    """What it did after its response; of the fields above, only `calls` includes it."""
    samples: tuple[Sampled, ...] = ()
    """Of its stacks, while no measured call was in progress."""
    lock_waits: tuple[LockWait, ...] = ()
    """In which it waited, or held the lock; what the database showed while the wait lasted."""


@dataclass(frozen=True)
class Trace:
    """All transactions of one trace id, callers before those they called."""

    trace_id: str
    transactions: tuple[Bill, ...]
    spans_elsewhere: int
    """Spans of the trace that are in none of these transactions."""
    is_complete: bool
    """False when the trace is too large to be read whole."""


@dataclass(frozen=True)
class Column:
    """A column of an answer to SQL; `type` is ClickHouse's."""

    name: str
    type: str


@dataclass(frozen=True)
class Selected:
    """The answer to a statement of SQL: every row has a value for each column."""

    columns: tuple[Column, ...]
    rows: list[list[Any]]
