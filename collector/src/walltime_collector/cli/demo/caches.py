"""What the caches of the shop that does not exist say of themselves, as the collector would have stored it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ...observe import events
from ...observe.caches import counters, happened
from ...observe.writer import Row
from .shop import RESTARTED_CACHE

_UPTIME_S, _PING_NS, _PINGS = 41 * 86_400, 210_000, 5
_PRODUCTS, _ITEM_BYTES, _LIMIT_BYTES = 24_000, 1_300, 64 << 20


def rows_of_caches(lookups: Mapping[tuple[str, int, bool], int], restarted_s: int) -> Mapping[str, list[Row]]:
    """
    By table: each second with lookups, and the restart where it is one of them.

    Args:
        lookups: Their number by server, second and whether they hit.
    """
    rows = defaultdict[str, list[Row]](list)
    for server, second in sorted({(server, second) for server, second, _ in lookups}, key=lambda each: each[1]):
        hits, misses = (lookups.get((server, second, is_hit), 0) for is_hit in (True, False))
        is_new = server == RESTARTED_CACHE and second >= restarted_s
        uptime_s = second - restarted_s if is_new else _UPTIME_S + second - restarted_s
        items = min((second - restarted_s) * 40, _PRODUCTS) if is_new else _PRODUCTS
        rows[counters.TABLE].append({
            "at": f"{second + 1}.000", "server": server, "system": "memcached", "version": "1.6.38", "over_ns": 10**9,
            "uptime_s": uptime_s, "items": items, "bytes": items * _ITEM_BYTES, "max_bytes": _LIMIT_BYTES,
            "hits": hits, "misses": misses, "commands": hits + 2 * misses, "connections": 24, "max_connections": 1024,
            "others": {"pings": _PINGS, "ping_ns": _PINGS * _PING_NS, "ping_max_ns": 2 * _PING_NS},
        })  # fmt: skip
    if any(second < restarted_s for _, second, _ in lookups):
        what = f"{RESTARTED_CACHE} was restarted at {happened.clock(restarted_s)} and was empty"
        row = events.event_row(RESTARTED_CACHE, "memcached", "restarted", what, at_s=restarted_s, number=_PRODUCTS)
        rows[events.TABLE].append(row)
    return rows
