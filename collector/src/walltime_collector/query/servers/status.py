"""What an observed server says of its load, over the steps of a window, and which kinds of transaction keep it busy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...clickhouse.engine import Engine
from ...conversion import from_row
from ..queries import run
from ..sampled import run_sums
from ..scope import Scope, Steps

_MOST_KINDS = 7


@dataclass(frozen=True, kw_only=True)
class Said:
    """Of one step, or of all: counters are sums over `over_ns`."""

    over_ns: float
    """The time between answers: of a step, less where it was not asked, or did not answer."""
    version: str
    """At the end, as the next one and the limit."""
    uptime_s: int
    most_connected: int
    max_connections: int
    refused_connections: float


@dataclass(frozen=True, kw_only=True)
class MysqlSaid(Said):
    """The columns of mysql_status."""

    threads_running: float
    """The mean."""
    queries: float
    page_requests: float
    page_misses: float
    rows_read: float
    rows_changed: float
    tmp_tables_on_disk: float
    row_lock_wait_ns: float
    history_list: int | None
    """The most, as the next one; None: unknown."""
    replication_lag_ns: int | None


@dataclass(frozen=True, kw_only=True)
class CacheSaid(Said):
    """The columns of cache_status."""

    most_bytes: int
    max_bytes: int
    """0: no limit."""
    hits: float
    misses: float
    evictions: float
    expired: float
    commands: float


S = TypeVar("S", MysqlSaid, CacheSaid)


@dataclass(frozen=True)
class Status(Generic[S]):
    """Over the steps of a window."""

    whole: S
    of_steps: tuple[S | None, ...]
    """None where the server was not asked, or did not answer."""


@dataclass(frozen=True)
class Active:
    """The time that a kind of transaction spent on a database, in each step. All others have no name."""

    service: str
    name: str
    kinds: int
    time_ns: tuple[int, ...]


def mysql_status(engine: Engine, server: str, steps: Steps) -> Status[MysqlSaid] | None:
    """
    Of a server by its observed name; None when it did not answer in this time.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    return _status(engine, "mysql", MysqlSaid, server, steps)


def cache_status(engine: Engine, server: str, steps: Steps) -> Status[CacheSaid] | None:
    """
    As mysql_status.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    return _status(engine, "cache", CacheSaid, server, steps)


def _status(engine: Engine, table: str, said: type[S], server: str, steps: Steps) -> Status[S] | None:
    limits = {"start_ns": steps.start_ns, "end_ns": steps.at_ns(steps.count), "step_s": steps.step_s}
    rows = run(engine, f"servers/{table}_steps", table=f"{table}_status", server=server, **limits)
    found = {int(row["step"]): from_row(said, row) for row in rows if not row["is_whole"]}
    whole = next((from_row(said, row) for row in rows if row["is_whole"] and row["over_ns"]), None)
    return Status(whole, tuple(found.get(step) for step in range(steps.count))) if whole else None


def active(engine: Engine, scope: Scope, steps: Steps, system: str, address: str) -> Sequence[Active]:
    """
    Which kinds keep a database busy, the one with most time first; by `target.address`.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    params = {**scope.divided(steps.step_s), "system": f"{system}.", "address": address, "limit": _MOST_KINDS}
    rows = run_sums(engine, "servers/active", **params)
    return [Active(row["of_service"], row["of_name"], row["kinds"], _of_steps(row["time_ns"], steps)) for row in rows]


def _of_steps(times_ns: Mapping[str, int], steps: Steps) -> tuple[int, ...]:
    by_number = {int(number): int(time_ns) for number, time_ns in times_ns.items()}
    return tuple(by_number.get(number, 0) for number in steps.numbers)
