"""Checks every second whether data moves, without the engine: it must also work while the engine hangs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ..background import BackgroundThread
from ..config.settings import Settings
from ..config.tls import Tls
from ..spool.directory import room
from ..spool.reserve import reserve_bytes
from ..spool.spool import Spool
from .counters import ENDS, Health, Trouble

log = logging.getLogger(__name__)

INTERVAL_S = 1.0
STUCK_S = 10.0
"""Data may wait this long, beyond the age of a segment, without any of it being stored."""
_FULL = 0.99
_REFUSED_AGO_S = 3.0
_FAILED_AGO_S = 60.0
_MINUTE_S = 60.0


class Watch(BackgroundThread):
    """A thread that reports to Health. It also reloads a renewed certificate."""

    def __init__(
        self,
        settings: Settings,
        spool: Spool,
        health: Health,
        tls: Tls,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__("watch", "check whether data moves", INTERVAL_S, waits_first=True)
        self._settings, self._spool, self._health, self._tls = settings, spool, health, tls
        self._clock = clock
        self._moved_s, self._ended, self._minute_s = clock(), 0, clock()

    def start(self) -> None:
        """Check once, then continue in the thread."""
        self.look()
        super().start()

    def step(self) -> None:
        """Check; every minute, look for a renewed certificate."""
        self.look()
        if self._clock() - self._minute_s >= _MINUTE_S:
            self._minute_s = self._clock()
            if self._tls.renew():
                log.info("the certificate changed; new connections use it")

    def look(self) -> None:
        """Check, and report to Health."""
        size_bytes, oldest_s = self._spool.size_bytes, self._oldest_s()
        gauges = {
            "spool_bytes": float(size_bytes),
            "spool_limit_bytes": float(self._settings.max_spool_bytes),
            "spool_oldest_s": oldest_s,
        }
        troubles = [trouble for trouble in (self._full(size_bytes), self._failed(), self._stuck(size_bytes)) if trouble]
        self._health.watched(troubles, gauges)

    def _full(self, size_bytes: int) -> Trouble | None:
        limit = self._settings.max_spool_bytes
        free, disk_bytes = room(self._spool.directory)
        reserve = reserve_bytes(disk_bytes)
        if free <= reserve:
            return Trouble(
                "spool_full", f"{self._spool.directory}: the disk has {free} bytes left, its reserve is {reserve}"
            )
        if size_bytes >= limit * _FULL or self._health.ago_s("refused_spool_full") < _REFUSED_AGO_S:
            what = f"{self._spool.directory}: the spool holds {size_bytes} bytes and its limit is {limit}"
            return Trouble("spool_full", what)
        return None

    def _failed(self) -> Trouble | None:
        if self._health.ago_s("refused_spool_failed") < _FAILED_AGO_S:
            return Trouble("spool_failed", f"{self._spool.directory}: writing to this disk failed; see the log")
        return None

    def _stuck(self, size_bytes: int) -> Trouble | None:
        spans = self._health.report()["spans"]
        ended = sum(spans[name] for name in ENDS)
        if ended != self._ended or not size_bytes:
            self._moved_s, self._ended = self._clock(), ended
        waited_s = self._clock() - self._moved_s
        if waited_s <= STUCK_S + self._settings.segment_age_s:
            return None
        return Trouble(
            "loader_stuck", f"{size_bytes} bytes wait in the spool, and for {waited_s:.0f} s none was stored"
        )

    def _oldest_s(self) -> float:
        """Age of the oldest sealed segment, from the time in its name."""
        times = [segment.name.partition("-")[0] for segment in self._spool.sealed()]
        known = [int(each) for each in times if each.isdecimal()]
        return max((time.time_ns() - min(known)) / 1e9, 0.0) if known else 0.0
