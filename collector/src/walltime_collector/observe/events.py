"""Events of a server: what happened on it at a moment, as a row of server_events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from .writer import Row

TABLE = "server_events"
System = Literal["mysql", "memcached", "redis"]
Event = Literal[
    "started",
    "restarted",
    "replaced",
    "flushed",
    "evicting",
    "connection_limit",
    "saving",
    "slow_command",
    "failover",
    "deadlock",
    "plan_changed",
    "lost",
]
"""
started: when that was, of one that is asked for the first time. restarted: its uptime began again. replaced: another
server behind the same name. flushed: a command removed all items. evicting: it removes much more than usual that is
not expired, for lack of memory. connection_limit: it refused clients. saving: a Redis wrote its memory to disk.
slow_command: one that stopped a Redis. failover: a replica became the master, or the other way round. lost: so many
statements (`number`) were overwritten before they were read.
"""


def event_row(
    server: str,
    system: System,
    event: Event,
    what: str,
    *,
    at_s: float,
    until_s: float = 0.0,
    number: float = 0.0,
    details: Mapping[str, str] | None = None,
) -> Row:
    """
    A row of the table.

    Args:
        what: A sentence without secrets: `memcached01:11211 was restarted at 11:06:32 and is empty`.
        at_s: When it happened, or began, Unix seconds.
        until_s: When it ended; 0: it took no time, or goes on. A row with the same server, event and begin replaces it.
        number: Its size, whatever it counts.
    """
    return {
        "at": f"{at_s:.3f}",
        "until": f"{until_s or at_s:.3f}",
        "server": server,
        "system": system,
        "event": event,
        "what": what,
        "number": number,
        "details": dict(details or {}),
    }
