"""What a memcached, Redis or Valkey server said about itself at one moment, in words that are the same for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..events import System
from ..writer import Row

TABLE = "cache_status"


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Numbers since the server's start, and as they are now."""

    system: System
    version: str
    process: str
    """It is another one after each start of the server."""
    uptime_s: float
    items: int
    bytes: int
    max_bytes: int
    """0: no limit."""
    connections: int
    max_connections: int
    hits: int
    misses: int
    evictions: int
    expired: int
    reclaimed: int
    commands: int
    refused_connections: int
    flushes: int = 0
    """Commands that removed all items."""
    loaded: int | None = 0
    """Items that it had at once when it started, from disk; None: unknown."""
    is_loading: bool = False
    """It does so now, and answers nothing else."""
    is_saving: bool = False
    saving: str = ""
    """What it writes: RDB, AOF."""
    saved_s: int = 0
    """When it last had written its memory to disk, by its clock."""
    forks: int = 0
    fork_ns: int = 0
    """How long the last fork stopped it."""
    role: str = ""
    others: Mapping[str, float] = field(default_factory=dict)
    """Further counters since its start; stored as what was added, like those above."""
    slabs: Mapping[str, int] = field(default_factory=dict)
    """memcached: evictions by the size of items of a slab class, `1,184 B`; only where there were some."""


_ADDED = ("hits", "misses", "evictions", "expired", "reclaimed", "commands", "refused_connections")
_NOW = ("system", "version", "items", "bytes", "max_bytes", "connections", "max_connections", "is_saving")


def row(server: str, at_s: float, before: Counters, now: Counters, over_s: float, others: Mapping[str, float]) -> Row:
    """
    A row of the table: what was added between two looks at one process, `over_s` apart.

    Args:
        others: Further numbers, as they are.
    """
    added = {name: now.others[name] - before.others.get(name, 0) for name in now.others}
    return {
        "at": f"{at_s:.3f}",
        "server": server,
        "over_ns": round(over_s * 1e9),
        "uptime_s": round(now.uptime_s),
        **{name: getattr(now, name) for name in _NOW},
        **{name: max(getattr(now, name) - getattr(before, name), 0) for name in _ADDED},
        "others": {**{name: number for name, number in added.items() if number > 0}, **others},
    }
