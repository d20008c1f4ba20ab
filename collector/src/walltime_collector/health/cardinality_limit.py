"""
Keeps services with very many names from making everything that goes by name as large: `_OTHER` takes what is beyond.

A name that says what a request was for (`GET /user/7291`) and not its kind makes a row a minute of every transaction,
in three tables, for 400 days. So a service has MOST_NAMES names a day: those that most of its transactions had since
yesterday began. Which they are is in `crowded_names`, where every INSERT looks (schema/005); so it holds for all
collectors of a database, and after a restart.
"""

from __future__ import annotations

import logging
import time
from importlib.resources import files

from ..clickhouse.engine import Engine
from ..format import printable
from ..query.questions import run
from .counters import Health

log = logging.getLogger(__name__)

MOST_NAMES = 10_000
_LOOK_EVERY_S = 10.0
_SHARE = 100
"""Looking takes at most one part in so many of the time."""


class CardinalityLimit:
    """Looks for services that became crowded; names that come between two looks are stored as they are."""

    def __init__(self, engine: Engine, health: Health, most: int = MOST_NAMES) -> None:
        self._engine, self._health, self._most = engine, health, most
        self._next_s = 0.0

    def look(self) -> None:
        """
        Look, when it is time again.

        Raises:
            EngineError: Not now; the tables may not be there yet.
        """
        started_s = time.monotonic()
        if started_s < self._next_s:
            return
        self._next_s = started_s + _LOOK_EVERY_S
        services = [str(row["service"]) for row in run(self._engine, "crowded_services", most=self._most)]
        if services:
            self._limit(services)
        now_s = time.monotonic()
        self._next_s = max(self._next_s, now_s + _SHARE * (now_s - started_s))

    def _limit(self, services: list[str]) -> None:
        sql = (files(__package__) / "cardinality_limit.sql").read_text("utf-8")
        self._engine.command(sql, {"services": services, "most": self._most})
        self._health.add("crowded_services", len(services))
        for service in services:
            log.warning(
                "%s: its transactions have more than %d names; those beyond its most frequent names"
                " are stored as _OTHER until midnight; name them by route",
                printable(service),
                self._most,
            )
