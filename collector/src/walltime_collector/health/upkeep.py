"""Regular queries to the engine: whether it answers, retention, counters every minute, and other checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from ..background import BackgroundThread
from ..clickhouse.engine import Engine
from ..errors import CollectorError, EngineUnavailable
from .counters import Health
from .minutes import HealthMinutes

INTERVAL_S = 3.0
_MINUTE_S = 60.0


class Upkeep(BackgroundThread):
    """
    A thread of its own, because it may have to wait for the engine.

    Args:
        keep: Applies the retention to the tables; called until it succeeds once.
        checks: Called every few seconds after that.
    """

    def __init__(
        self,
        engine: Engine,
        health: Health,
        minutes: HealthMinutes,
        keep: Callable[[], object],
        checks: Sequence[Callable[[], object]] = (),
    ) -> None:
        super().__init__("upkeep", "do the upkeep", INTERVAL_S)
        self._engine, self._health, self._minutes, self._keep, self._checks = engine, health, minutes, keep, checks
        self._has_retention = False
        self._minute_s = time.monotonic()

    def run(self) -> None:
        """See threading.Thread; at the end it stores the counters of the current minute."""
        super().run()
        self._minutes.write()

    def step(self) -> None:
        """Check that the engine answers, and do what is due."""
        try:
            self._engine.query("SELECT 1")
        except EngineUnavailable as error:
            self._health.engine_answers(str(error))
            return
        except CollectorError:  # it is busy, and so it answers
            pass
        self._health.engine_answers()
        if not self._has_retention:
            with suppress(EngineUnavailable):  # the tables may not exist yet
                self._keep()
                self._has_retention = True
        else:
            for check in self._checks:
                with suppress(EngineUnavailable):
                    check()
        if time.monotonic() - self._minute_s >= _MINUTE_S:
            self._minute_s = time.monotonic()
            self._minutes.write()
