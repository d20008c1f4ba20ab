"""
What the engine is asked for besides data: whether it answers, retention, a row of counters a minute, what else is due.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from ..clickhouse.engine import Engine
from ..errors import CollectorError, EngineUnavailable
from .counters import Health
from .minutes import HealthMinutes

log = logging.getLogger(__name__)

ASK_EVERY_S = 3.0
_MINUTE_S = 60.0
_LAST_ROW_S = 2.0


class Upkeep:
    """
    A thread of its own, which may have to wait for the engine; nothing else waits for it.

    Args:
        keep: Brings the tables' retention up to date; called until it succeeds once.
        looks: Called every few seconds after that.
    """

    def __init__(
        self,
        engine: Engine,
        health: Health,
        minutes: HealthMinutes,
        keep: Callable[[], object],
        looks: Sequence[Callable[[], object]] = (),
    ) -> None:
        self._engine, self._health, self._minutes, self._keep, self._looks = engine, health, minutes, keep, looks
        self._stop = threading.Event()
        self._is_kept = False
        self._minute_s = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Write the row of the minute that is not over, when the engine takes it soon."""
        self._stop.set()
        self._thread.join(_LAST_ROW_S)

    def step(self) -> None:
        """Ask whether the engine answers, and do what is due."""
        try:
            self._engine.query("SELECT 1")
        except EngineUnavailable as error:
            self._health.engine_answers(str(error))
            return
        except CollectorError:  # busy is not away
            pass
        self._health.engine_answers()
        if not self._is_kept:
            with suppress(EngineUnavailable):  # the tables may not be there yet
                self._keep()
                self._is_kept = True
        else:
            for look in self._looks:
                with suppress(EngineUnavailable):
                    look()
        if time.monotonic() - self._minute_s >= _MINUTE_S:
            self._minute_s = time.monotonic()
            self._minutes.write()

    def _run(self) -> None:
        is_over = False
        while not is_over:
            try:
                self.step()
            except (CollectorError, OSError) as error:
                log.warning("%s", error)
            except Exception:
                log.exception("the upkeep failed in a way nobody thought of; it goes on")
            is_over = self._stop.wait(ASK_EVERY_S)
        self._minutes.write()
