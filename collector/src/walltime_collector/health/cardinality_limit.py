"""
Limits the number of transaction names per service; transactions beyond it are stored as `_OTHER`.

A name with an id in it (`GET /user/7291`) is one row a minute for every transaction, in three tables, for 400 days.
So a service has MAX_NAMES names a day: the most frequent since the beginning of yesterday. They are in the table
`crowded_names`, which every INSERT reads (schema/005); so the limit holds for all collectors of a database, and after
a restart.
"""

from __future__ import annotations

import logging
import time
from importlib.resources import files

from ..clickhouse.engine import Engine
from ..format import printable
from ..query.queries import run
from .counters import Health

log = logging.getLogger(__name__)

MAX_NAMES = 10_000
_INTERVAL_S = 10.0
_INVERSE_SHARE = 100
"""The check takes at most 1 % of the time."""


class CardinalityLimit:
    """Finds services over the limit. New names between two checks are stored as they are."""

    def __init__(self, engine: Engine, health: Health, most: int = MAX_NAMES) -> None:
        self._engine, self._health, self._most = engine, health, most
        self._next_s = 0.0

    def look(self) -> None:
        """
        Check, if it is due.

        Raises:
            EngineError: It failed; the tables may not exist yet.
        """
        started_s = time.monotonic()
        if started_s < self._next_s:
            return
        self._next_s = started_s + _INTERVAL_S
        services = [str(row["service"]) for row in run(self._engine, "status/services_over_limit", most=self._most)]
        if services:
            self._limit(services)
        now_s = time.monotonic()
        self._next_s = max(self._next_s, now_s + _INVERSE_SHARE * (now_s - started_s))

    def _limit(self, services: list[str]) -> None:
        sql = (files(__package__) / "cardinality_limit.sql").read_text("utf-8")
        self._engine.command(sql, {"services": services, "most": self._most})
        self._health.add("services_over_limit", len(services))
        for service in services:
            log.warning(
                "%s: its transactions have more than %d names; until midnight all but the most frequent"
                " are stored as _OTHER; name transactions by route",
                printable(service),
                self._most,
            )
