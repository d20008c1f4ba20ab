"""The typed answer of `walltime digest`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

DigestRanking = Literal["total", "client", "server", "calls", "mean", "p95", "examined"]
"""What statements can be ranked by, largest first; `total` is the larger of client and server."""
DIGEST_RANKINGS: tuple[DigestRanking, ...] = get_args(DigestRanking)


@dataclass(frozen=True)
class Sender:
    """A kind of transaction that sends a statement."""

    service: str
    name: str
    calls: int
    time_ns: int
    share: float
    """Of the statement's time."""


@dataclass(frozen=True)
class ClientView:
    """What the applications measured of the statement, over all their transactions."""

    calls: int
    time_ns: int
    mean_ns: int
    errors: int


@dataclass(frozen=True)
class ServerView:
    """What the slow log has; when the server logs one in n statements, only `entries` and `joined` are exact."""

    entries: int
    joined: int
    """Entries with a trace id in their comment."""
    calls: int
    time_ns: int
    mean_ns: int
    p95_ns: int
    max_ns: int
    lock_ns: int
    row_lock_ns: int
    io_wait_ns: int
    lock_share: float
    rows_sent: int
    rows_examined: int
    rows_affected: int
    examined_per_row: float
    """Rows examined for each row sent or changed."""
    full_scan_share: float
    errors: int


@dataclass(frozen=True)
class NewSince:
    """No transaction of this kind sent the statement in an earlier version, and not for lack of transactions."""

    service: str
    version: str
    name: str
    """Of the kind that sends it most since then."""
    sent: int
    """Its transactions in this version that sent it,"""
    of: int
    """of so many."""
    earlier: int
    """Its transactions in earlier versions; none of them sent it."""


@dataclass(frozen=True)
class SentBy:
    """A version of a service that sent it, all kinds together."""

    service: str
    version: str
    """Empty when the service reports none."""
    first_seen: str
    calls: int
    time_ns: int
    kinds: int


@dataclass(frozen=True)
class Day:
    """A day (UTC) at both ends: what the applications measured, and what the server logged."""

    day_s: int
    """Its beginning, Unix seconds."""
    calls: int = 0
    time_ns: int = 0
    logged_calls: int = 0
    logged_ns: int = 0
    rows_examined: int = 0
    rows_used: int = 0
    """Sent or changed."""


@dataclass(frozen=True)
class PlanLine:
    """A step of a plan: a table and how it is read, or an operation on the deeper steps below it."""

    depth: int
    text: str


@dataclass(frozen=True)
class Plan:
    """A plan that a server chose for the statement, without values."""

    server: str
    database: str
    plan_id: str
    """16 hexadecimal digits: the same tables, read in the same way and order."""
    first_seen: str
    last_seen: str
    summary: str
    lines: tuple[PlanLine, ...]
    changed: str
    """What differs from the plan that was first seen before it: `index `category_id` → full scan`; empty: none was."""


@dataclass(frozen=True)
class AskedPlan:
    """A plan that the server has now."""

    plan: Plan


@dataclass(frozen=True)
class StatementHistory:
    """One statement over all time for which sums are kept."""

    first_seen: str
    """By the minute, or by the log; empty when nothing is stored."""
    new_since: tuple[NewSince, ...]
    """Of services whose earlier versions are known not to have sent it."""
    versions: tuple[SentBy, ...]
    """The latest first."""
    days: tuple[Day, ...]
    """Those with a call, in their order."""
    plans: tuple[Plan, ...] = ()
    """Of each server, the one that was first seen last comes first."""


@dataclass(frozen=True)
class DigestedStatement:
    """All statements of one fingerprint. It has at least one of the two views."""

    fingerprint_id: str
    """16 hexadecimal digits: the end of pt-query-digest's query id, when both make the same fingerprint."""
    fingerprint: str
    total_ns: int
    """The larger of client's and server's time: each of them may know only a part."""
    share: float
    """Of the total of all statements."""
    client: ClientView | None
    server: ServerView | None
    senders: tuple[Sender, ...]
    """Most expensive first; the applications when known, otherwise the services that the comments name."""
    all_senders: int
    """Also those that are not in `senders`, which has the most expensive ones only."""
    is_before_applications: bool = False
    """No known service sent it, and its last entry is older than the first transaction that is stored."""
    history: StatementHistory | None = None
    """Where a few statements were asked for."""

    @property
    def is_unsent(self) -> bool:
        """No known transaction sent it."""
        return not self.senders and not (self.server and self.server.joined)


@dataclass(frozen=True)
class Digest:
    """Statements ranked."""

    since: str
    until: str
    by: str
    service: str
    all_statements: int
    total_ns: int
    client_ns: int
    server_ns: int
    entries: int
    """Of the slow log in this time; 0 when no log is followed, or nothing was slow."""
    statements: tuple[DigestedStatement, ...]
    statement: str = ""
    """The requested id or text; all statements that begin with it are here."""
    unsent_ns: int = 0
    """Server time of statements that no known service sent: migrations, shells, other programs."""
