"""The typed answers about servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..components import Sums
from ..kept.sample import Sample
from ..scope import Steps

Measure = Literal["hit_ratio", "time_per_call", "errors_per_call"]


@dataclass(frozen=True)
class Moment:
    """The time in which a server was much worse than in the rest of the window."""

    measure: Measure
    start_ns: int
    end_ns: int
    is_over: bool
    """Whether it was as usual again before the window ended."""
    value: float
    """In the worst step: a ratio of 0 to 1, or nanoseconds."""
    usual: float
    """The median of the better half of the steps."""


@dataclass(frozen=True, kw_only=True)
class Server(Sums):
    """One component on one server: sums over the window and in each step."""

    component: str
    address: str
    share: float
    """Of the time of all transactions in the window; calls that overlap count twice."""
    mean_ns: int
    hit_ratio: float | None
    """None where nothing was looked up."""
    kinds: int
    """Kinds of transaction that call it."""
    steps: tuple[Sums, ...]
    moments: tuple[Moment, ...]


@dataclass(frozen=True)
class Servers:
    """All servers of a Scope, those that took the most time first."""

    steps: Steps
    transactions: int
    total_ns: int
    """The time of all transactions."""
    skipped: Mapping[str, int]
    """By component: calls that were not made because their server was known to be dead."""
    servers: tuple[Server, ...]


@dataclass(frozen=True, kw_only=True)
class User(Sums):
    """A kind of transaction that calls the server."""

    service: str
    name: str
    transactions: int
    """Those that called it."""
    share: float
    """Of the server's time."""
    hit_ratio: float | None


@dataclass(frozen=True, kw_only=True)
class Requested:
    """What is requested of a server: a statement, a prefix of keys, or a URL. All numbers are estimates."""

    text: str
    fingerprint_id: str
    """Of a statement; empty otherwise."""
    calls: float
    """So many of the server's calls, when the kept ones are like all."""
    calls_share: float
    share: float
    """Of the server's time."""
    mean_ns: int
    error_share: float
    hit_ratio: float | None


@dataclass(frozen=True)
class ServerDetail:
    """One component on one server, and who uses it for what."""

    server: Server
    steps: Steps
    others: tuple[Server, ...]
    """The other components on the same address."""
    skipped: int
    """Calls of this component, on any server, that were not made because their server was known to be dead."""
    all_users: int
    users: tuple[User, ...]
    sample: Sample
    requested: tuple[Requested, ...]


def ratio(hits: float, misses: float) -> float | None:
    """The share of lookups that were hits; None without any."""
    return hits / (hits + misses) if hits + misses else None
