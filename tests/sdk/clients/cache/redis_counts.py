"""What a redis server and the bill have counted, to be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis

from tests.redis_server import RedisServer
from tests.sdk.sink import Received

Connect = Callable[..., Any]
Redis: Any = redis.Redis  # half of redis-py has no types, and a pipeline those of the client

NOT_OURS = {"hello", "client|setinfo", "info", "select", "flushall", "multi", "exec", "unwatch"}
"""What the driver says by itself, and the tests."""


class Counted:
    """What the server has counted since this was made."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._calls, self._lookups = server.calls(), server.lookups()

    def calls(self) -> dict[str, int]:
        """Command → how often it was executed; those of nobody's request left out."""
        now = self._server.calls()
        grown = {name: count - self._calls.get(name, 0) for name, count in now.items()}
        return {name: count for name, count in grown.items() if count and name not in NOT_OURS}

    def lookups(self) -> tuple[int, int]:
        hits, misses = self._server.lookups()
        return hits - self._lookups[0], misses - self._lookups[1]


def commands(bill: Received) -> dict[str, int]:
    """Command → calls, as the bill has it."""
    names = [name.removeprefix("redis.") for name in bill.times_ns() if name.startswith("redis.")]
    cells = {name: bill.cell(f"redis.{name}").get("calls", 0) for name in names}
    return {name: count for name, count in cells.items() if name not in {"connect", "pipeline", "transaction", "pool"}}


def lookups(bill: Received) -> tuple[int, int]:
    cells = [bill.cell(name) for name in bill.times_ns()]
    return sum(cell.get("hits", 0) for cell in cells), sum(cell.get("misses", 0) for cell in cells)
