"""
The ground truth beside Walltime: what MariaDB, both memcached and the visitors counted themselves in a time window.

Nothing here comes from the SDK or the collector, so that what those say can be compared with it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from shop.load import Load
from shop.stack import Stack

STATUS = """
    SHOW GLOBAL STATUS WHERE Variable_name IN
    ('Com_select', 'Com_insert', 'Com_update', 'Com_delete', 'Innodb_row_lock_waits', 'Innodb_row_lock_time')"""
STATS = ("pid", "get_hits", "get_misses", "cmd_set")


@dataclass
class Window:
    """From `since_ns` to `until_ns` (Unix time), with what was counted in it."""

    since_ns: int
    until_ns: int = 0
    requests: dict[str, int] = field(default_factory=dict)
    """Answered ones by kind; those under way at either end may be counted on either side of it."""
    mariadb: dict[str, int] = field(default_factory=dict)
    """Statements by verb; waits for row locks and their time in ms."""
    memcached: dict[str, dict[str, int]] = field(default_factory=dict)
    """By address; of a server that restarted within the window, since then."""


class Watch:
    """Looks at the servers of a running stack; its own statements (SHOW, SET) are in none of the counters."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    @contextmanager
    def window(self, load: Load | None = None) -> Iterator[Window]:
        """The time the block takes; the window is complete when the block has ended."""
        window = Window(since_ns=time.time_ns())
        before = self._counts(load)
        yield window
        after = self._counts(load)
        window.until_ns = time.time_ns()
        window.requests = _grown(after[0], before[0])
        window.mariadb = _grown(after[1], before[1])
        for address, stats in after[2].items():
            earlier = before[2][address]
            window.memcached[address] = _grown(stats, earlier if earlier.pop("pid") == stats.pop("pid") else {})

    def _counts(self, load: Load | None) -> tuple[Mapping[str, int], Mapping[str, int], dict[str, dict[str, int]]]:
        with self._stack.mariadb.admin() as connection, connection.cursor() as cursor:
            cursor.execute(STATUS)
            mariadb = {name: int(value) for name, value in cursor.fetchall()}
        memcached = {}
        for cache in self._stack.caches:
            stats = cache.stats()
            memcached[cache.address] = {name: int(stats[name]) for name in STATS}
        return Counter(load.sent.requests if load else {}), mariadb, memcached


def _grown(after: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, int]:
    return {name: value - before.get(name, 0) for name, value in after.items()}
