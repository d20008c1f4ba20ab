"""The thread that derives transactions, one window at a time, while the collector runs."""

from __future__ import annotations

import logging
import threading

from ...clickhouse.engine import Engine
from ...errors import CollectorError
from ...health.counters import Health
from .windows import assemble, check, clock, due, unchecked

log = logging.getLogger(__name__)

_LOOK_BACK_S = 3600
"""Read this much before the windows that are not due: older windows are done, and roots are kept for a week."""


class Assembler:
    """
    Looks for windows that are due, twice in each window's length.

    Several collectors of one ClickHouse may run it: each skips what another has done, and doing it twice is harmless.

    Args:
        window_s: Roots stored within this many seconds become transactions together.
        settle_s: How long a window waits for late spans after its end.
    """

    def __init__(self, engine: Engine, health: Health, *, window_s: int, settle_s: int) -> None:
        self._engine, self._health = engine, health
        self._window_s, self._settle_s = window_s, settle_s
        self._from_s = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="assembler", daemon=True)

    def start(self) -> None:
        """Start, with the windows that earlier runs left."""
        self._thread.start()

    def stop(self) -> None:
        """Start no other window, and wait a second; the next run finishes an unfinished window."""
        self._stop.set()
        self._thread.join(1.0)

    def _run(self) -> None:
        is_first_failure = True
        while not self._stop.wait(self._window_s / 2):
            try:
                self._look()
                is_first_failure = True
            except Exception as error:  # whatever it is, the roots are stored and this thread must go on
                self._health.add("foreign_retries")
                if not isinstance(error, CollectorError | OSError):
                    log.exception("deriving transactions failed with an unexpected error; it is tried again")
                elif is_first_failure:
                    log.warning("cannot derive transactions now, will try again: %s", error)
                is_first_failure = False

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
