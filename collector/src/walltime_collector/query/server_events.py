"""What happened on databases and caches in a window: restarts, evictions, deadlocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..clickhouse.engine import Engine
from .answers import from_row
from .queries import run
from .windows import Window

_MOST = 200


@dataclass(frozen=True)
class ServerEvent:
    """Something that happened on a server; `end_ns` equals `start_ns` where it took no time."""

    start_ns: int
    end_ns: int
    server: str
    system: str
    """mysql, memcached or redis."""
    event: str
    """One of observe.events.Event."""
    what: str
    """A sentence."""
    number: float
    details: Mapping[str, str]


def events(
    engine: Engine, window: Window, servers: Sequence[str] = (), events: Sequence[str] = ()
) -> tuple[ServerEvent, ...]:
    """
    Those in the window, also what began before and was not over; the oldest first, of very many the newest.

    Args:
        servers: Of these alone, by their observed names; none means all. `events` likewise.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    limits = {"start_ns": window.start_ns, "end_ns": window.end_ns, "limit": _MOST}
    rows = run(engine, "servers/events", **limits, servers=servers, events=events)
    return tuple(from_row(ServerEvent, row) for row in reversed(rows))
