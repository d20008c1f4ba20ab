"""The typed answer of `find`: what the API sends as JSON and the command reads back."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import Sums


@dataclass(frozen=True, kw_only=True)
class Part(Sums):
    """One component of the bill."""

    name: str


@dataclass(frozen=True)
class Match:
    """One transaction, with its bill in short; `walltime show` has the rest."""

    trace_id: str
    span_id: str
    started_at: str
    duration_ns: int
    service: str
    name: str
    host: str
    version: str
    environment: str
    user: str
    http_status: int
    """0 without one."""
    is_error: bool
    error_type: str
    kept: str
    """Why its calls are kept; empty when they are not."""
    other_ns: int
    sort_value: int
    """What the list is ordered by: nanoseconds, a number, or the Unix time in nanoseconds."""
    components: tuple[Part, ...]
    """The most expensive one first."""


@dataclass(frozen=True)
class Matches:
    """One page of a list of transactions."""

    since: str
    until: str
    sort: str
    matches: tuple[Match, ...]
    next: str
    """The key of the next page, which is about the same window of time; empty when there are no more."""
