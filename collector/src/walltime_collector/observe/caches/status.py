"""Each second of a cache: its counters as a row, and what happened to it as events."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from ..look import Look
from ..writer import Writer
from .counters import TABLE, Counters, row
from .happened import Happened

Connection = TypeVar("Connection")


_SHARE = 0.3
"""See Look.share: what is asked costs less than 0.5 ms; the rest of the time, the server does something else."""


class Ping(Look[Connection]):
    """How long the server lets the shortest question wait: short pauses are between two looks at the counters."""

    every_s = 0.2
    share = _SHARE

    def __init__(self, name: str, writer: Writer, ping: Callable[[Connection], None]) -> None:
        super().__init__(name, writer)
        self._ping = ping
        self.waited_ns: list[int] = []
        """Since CacheStatus stored them."""

    def look(self, connection: Connection) -> None:
        """See Look."""
        began_ns = time.perf_counter_ns()
        self._ping(connection)
        self.waited_ns.append(time.perf_counter_ns() - began_ns)
        self.every_s = random.uniform(0.1, 0.3)  # what stops the server may be as regular


class CacheStatus(Look[Connection]):
    """
    The counters.

    Args:
        read: Asks for them.
        last_start_s: When the server had started that the last stored row is of, Unix seconds; None: there is none.
    """

    share = _SHARE

    def __init__(
        self,
        name: str,
        writer: Writer,
        read: Callable[[Connection], Counters],
        pings: Ping[Connection],
        last_start_s: Callable[[], float | None],
    ) -> None:
        super().__init__(name, writer)
        self._read, self._pings, self._last_start_s = read, pings, last_start_s
        self._happened = Happened(name, writer)
        self._before: Counters | None = None
        self._at_s = 0.0

    def look(self, connection: Connection) -> None:
        """See Look."""
        began_s = time.time()
        now = self._read(connection)
        at_s = time.time()
        if now.is_loading:
            return
        last_start_s = None if self._before else self._last_start_s()
        before, over_s, self._before, self._at_s = self._before, at_s - self._at_s, now, at_s
        waited_ns, self._pings.waited_ns = [*self._pings.waited_ns, round((at_s - began_s) * 1e9)], []
        if before is None:
            self._happened.first(at_s, now, last_start_s)
        elif before.process != now.process:
            self._happened.started(at_s, now, at_s - over_s, before.items)
        else:
            pings = {"pings": len(waited_ns), "ping_ns": sum(waited_ns), "ping_max_ns": max(waited_ns)}
            self.writer.add(TABLE, [row(self.name, at_s, before, now, over_s, pings)])
            self._happened.between(at_s, over_s, before, now)
