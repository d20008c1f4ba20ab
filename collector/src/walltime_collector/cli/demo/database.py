"""What the database of the shop that does not exist says of itself, as the collector would have stored it."""

from __future__ import annotations

from collections.abc import Mapping

from ...observe.mysql import status
from ...observe.writer import Row
from .shop import DATABASE, Queries

_UPTIME_S, _CONNECTED, _MOST_CONNECTED = 190 * 86_400, 18, 151
_PAGES_OF_A_ROW, _MISSES_OF_A_THOUSAND = 3, 2


def rows_of_database(queries: Mapping[int, Queries], restarted_s: int) -> Mapping[str, list[Row]]:
    """
    By table: each second with queries.

    Args:
        queries: By second.
        restarted_s: Of the cache: uptimes count from there.
    """
    return {status.TABLE: [_row(second, each, restarted_s) for second, each in sorted(queries.items())]}


def _row(second: int, each: Queries, restarted_s: int) -> Row:
    pages = _PAGES_OF_A_ROW * each.examined
    return {
        "at": f"{second + 1}.000", "server": DATABASE, "version": "8.4.6", "over_ns": 10**9,
        "uptime_s": _UPTIME_S + second - restarted_s, "threads_running": -(-each.time_ns // 10**9),
        "threads_connected": _CONNECTED, "max_connections": _MOST_CONNECTED, "queries": each.calls,
        "page_requests": pages, "page_misses": pages * _MISSES_OF_A_THOUSAND // 1000, "dirty_share": 0.04,
        "rows_read": each.examined, "rows_changed": each.changed, "tmp_tables": each.tmp_tables,
        "row_lock_waits": each.locked, "row_lock_wait_ns": each.locked_ns, "history_list": 12,
    }  # fmt: skip
