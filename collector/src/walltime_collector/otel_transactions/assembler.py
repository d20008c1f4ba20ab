"""The thread that assembles foreign transactions, a window at a time, while the collector runs."""

from __future__ import annotations

import logging
import threading

from ..clickhouse.engine import Engine
from ..errors import CollectorError
from ..health.counters import Health
from .windows import assemble, check, clock, due, unchecked

log = logging.getLogger(__name__)

_LOOK_BACK_S = 3600
"""Beside what is not yet due: what is older was seen done, and a week of roots need not be read every time."""


class Assembler:
    """
    Looks once a window for windows that are due.

    Several collectors on one ClickHouse may all do it: what one has done the others leave, and twice is harmless.

    Args:
        window_s: Roots stored in so many seconds become transactions together.
        settle_s: How long a closed window waits for spans that are still on their way.
    """

    def __init__(self, engine: Engine, health: Health, *, window_s: int, settle_s: int) -> None:
        self._engine, self._health = engine, health
        self._window_s, self._settle_s = window_s, settle_s
        self._from_s = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="assembler", daemon=True)

    def start(self) -> None:
        """Begin with what earlier runs left."""
        self._thread.start()

    def stop(self) -> None:
        """Start no other window; the one at work may be finished by whoever comes next, and waits for no one."""
        self._stop.set()
        self._thread.join(1.0)

    def _run(self) -> None:
        is_news = True
        while not self._stop.wait(self._window_s / 2):
            try:
                self._look()
                is_news = True
            except Exception as error:  # whatever it is, the roots are stored and this thread must go on
                self._health.add("foreign_retries")
                if not isinstance(error, CollectorError | OSError):
                    log.exception("assembling foreign transactions failed in a way nobody thought of; it tries again")
                elif is_news:
                    log.warning("cannot assemble foreign transactions now, will try again: %s", error)
                is_news = False

    def _look(self) -> None:
        now_s = clock(self._engine)
        for window in due(self._engine, from_s=self._from_s, window_s=self._window_s, settle_s=self._settle_s):
            self._health.add("foreign_roots", assemble(self._engine, window))
            if self._stop.is_set():
                return
        self._from_s = now_s - self._settle_s - self._window_s - _LOOK_BACK_S
        for window in unchecked(self._engine):
            late = check(self._engine, window)
            self._health.add("foreign_roots_late", late.roots)
            self._health.add("foreign_spans_late", late.spans)
            if self._stop.is_set():
                return
