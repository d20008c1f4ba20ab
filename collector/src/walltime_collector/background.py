"""The threads of the collector: each repeats one step until it is stopped."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod

from .errors import CollectorError

log = logging.getLogger(__name__)


class BackgroundThread(threading.Thread, ABC):
    """
    Calls `step` until `stop`; whatever `step` raises, the thread goes on.

    Args:
        work: What it does, for the log: `load`.
        interval_s: Time between two steps, and after one that failed.
        waits_first: Whether this time also passes before the first step.
    """

    def __init__(self, name: str, work: str, interval_s: float, *, waits_first: bool = False) -> None:
        super().__init__(name=name, daemon=True)
        self.interval_s, self._work = interval_s, work
        self.stopping = threading.Event()
        self._waits_first = waits_first
        self._is_failing = False

    @abstractmethod
    def step(self) -> bool | None:
        """Do what is due; returns True if there may be more to do at once."""

    def failed(self, error: Exception) -> float:
        """Log what `step` raised, a known error only once until a step succeeds; returns the seconds until the next."""
        if not isinstance(error, CollectorError | OSError):
            log.exception("the %s thread failed with an unexpected error; it tries again", self.name)
        elif not self._is_failing:
            log.warning("cannot %s now, will try again: %s", self._work, error)
        self._is_failing = True
        return self.interval_s

    def stop(self, within_s: float) -> None:
        """Begin no other step, and wait at most that long for the one that runs."""
        self.stopping.set()
        self.join(within_s)

    def run(self) -> None:
        """See threading.Thread."""
        wait_s = self.interval_s if self._waits_first else 0.0
        while not self.stopping.wait(wait_s):
            try:
                wait_s = 0.0 if self.step() else self.interval_s
                self._is_failing = False
            except Exception as error:  # noqa: BLE001 whatever it is, this thread must go on
                wait_s = self.failed(error)
