"""The thread that derives transactions, one window at a time, while the collector runs."""

from __future__ import annotations

from ...background import BackgroundThread
from ...clickhouse.engine import Engine
from ...health.counters import Health
from .windows import assemble, check, clock, due, unchecked

_LOOK_BACK_S = 3600
"""Read this much before the windows that are not due: older windows are done, and roots are kept for a week."""


class Assembler(BackgroundThread):
    """
    Looks for windows that are due, twice in each window's length.

    Several collectors of one ClickHouse may run it: each skips what another has done, and doing it twice is harmless.

    Args:
        window_s: Roots stored within this many seconds become transactions together.
        settle_s: How long a window waits for late spans after its end.
    """

    def __init__(self, engine: Engine, health: Health, *, window_s: int, settle_s: int) -> None:
        super().__init__("assembler", "derive transactions", window_s / 2, waits_first=True)
        self._engine, self._health = engine, health
        self._window_s, self._settle_s = window_s, settle_s
        self._from_s = 0

    def failed(self, error: Exception) -> float:
        """See BackgroundThread; the roots are stored, and the next run finishes an unfinished window."""
        self._health.add("foreign_retries")
        return super().failed(error)

    def step(self) -> None:
        """Assemble the windows that are due, with those that earlier runs left; then check older ones."""
        now_s = clock(self._engine)
        for window in due(self._engine, from_s=self._from_s, window_s=self._window_s, settle_s=self._settle_s):
            self._health.add("foreign_roots", assemble(self._engine, window))
            if self.stopping.is_set():
                return
        self._from_s = now_s - self._settle_s - self._window_s - _LOOK_BACK_S
        for window in unchecked(self._engine):
            late = check(self._engine, window)
            self._health.add("foreign_roots_late", late.roots)
            self._health.add("foreign_spans_late", late.spans)
            if self.stopping.is_set():
                return
