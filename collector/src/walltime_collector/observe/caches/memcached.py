"""Asks a memcached server: `stats`, and of its slab classes those that evict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import pymemcache
from pymemcache.exceptions import MemcacheClientError, MemcacheError

from ...format import size
from ..address import Address
from .counters import Counters
from .explain import TIMEOUT_S, of_socket

OPTIONS = ("socket",)
_CLOCK_S = 2
"""A memcached says that it started two seconds before it did, so that no item is of the time 0."""
_OTHERS = ("evicted_unfetched", "store_too_large", "store_no_memory", "listen_disabled_num")

Connection: TypeAlias = Any
"""pymemcache.Client, which has no types."""


def connect(address: Address) -> Connection:
    """A connection, which is opened now."""
    where = address.options.get("socket") or (address.host, address.port)
    client = pymemcache.Client(where, connect_timeout=TIMEOUT_S, timeout=TIMEOUT_S, no_delay=True)
    client.version()
    return client


def ping(connection: Connection) -> None:
    """Wait for the shortest answer."""
    connection.version()


def read(connection: Connection) -> Counters:
    """What it says now."""
    stats = {str(name, "ascii", "replace"): value for name, value in connection.stats().items()}

    def number(name: str) -> int:
        return int(stats.get(name, 0))

    version = stats["version"]
    return Counters(
        system="memcached",
        version=version.decode("ascii", "replace") if isinstance(version, bytes) else str(version),
        process=f"{stats['pid']} {number('time') - number('uptime')}",
        uptime_s=max(number("uptime") - _CLOCK_S, 0),
        items=number("curr_items"),
        bytes=number("bytes"),
        max_bytes=number("limit_maxbytes"),
        connections=number("curr_connections"),
        max_connections=number("max_connections"),
        hits=number("get_hits"),
        misses=number("get_misses"),
        evictions=number("evictions"),
        expired=number("get_expired") + number("expired_unfetched"),
        reclaimed=number("reclaimed"),
        commands=sum(number(f"cmd_{name}") for name in ("get", "set", "touch", "meta")),
        refused_connections=number("rejected_connections") + number("listen_disabled_num"),
        flushes=number("cmd_flush"),
        others={name: number(name) for name in _OTHERS},
        slabs=_slabs(connection) if number("evictions") else {},
    )


def _slabs(connection: Connection) -> Mapping[str, int]:
    """Evictions by the largest size of an item of each slab class."""
    items, slabs = connection.stats("items"), connection.stats("slabs")
    found: dict[str, int] = {}
    for name, evicted in items.items():
        what, _, rest = name.partition(b":")
        slab, _, counter = rest.partition(b":")
        if what == b"items" and counter == b"evicted" and evicted:
            found[size(int(slabs.get(slab + b":chunk_size", 0)))] = int(evicted)
    return found


def explain(error: Exception) -> str:
    """See Watched."""
    if "Too many open connections" in str(error):
        return "refuses connections: it has reached its limit, -c"
    if isinstance(error, MemcacheClientError) and "unauthenticated" in str(error):
        return "wants a user and a password, which the collector does not send to a memcached"
    if words := of_socket(error):
        return words
    is_other = isinstance(error, MemcacheError | KeyError | ValueError)
    return "does not answer as a memcached does: is it one, and is a proxy before it?" if is_other else ""
