"""Asks the caches that the applications use by themselves, where `discover_caches` allows it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...background import BackgroundThread
from ...clickhouse.engine import Engine
from ...health.counters import Health
from ...query.other_side import DEFAULT_PORTS, Observed, meant
from ...query.queries import run
from ..address import Address
from ..watched import Watched

log = logging.getLogger(__name__)

_EVERY_S, _WITHIN_S = 10.0, 3_600
"""A cache that no bill has named for an hour is left."""
_MOST = 32
_OPTION = "--discover-caches"
_ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>\d{1,5}))?")
"""Whoever may send bills writes these texts: they are a host and a port, and never options or the path of a socket."""


class Discovery(BackgroundThread):
    """
    The threads of the caches that bills name. None of them has a password, which a bill could have sent anywhere.

    Args:
        configured: Those of the settings, which are asked as the settings say.
        watch: Makes the thread of a cache, by its system.
    """

    def __init__(
        self,
        engine: Engine,
        health: Health,
        configured: Sequence[Observed],
        watch: Mapping[str, Callable[[Address], Watched[Any]]],
    ) -> None:
        super().__init__("discover caches", "find the caches that applications use", _EVERY_S)
        self._engine, self._health, self._configured, self._watch = engine, health, configured, watch
        self._watched: dict[Observed, Watched[Any]] = {}

    def step(self) -> None:
        """
        Start what is new, and stop what no bill names any more.

        Raises:
            EngineUnavailable, QueryFailed: No answer; those that are asked go on.
        """
        rows = run(self._engine, "servers/caches_of_bills", within_s=_WITHIN_S)
        of_bills = [Observed(row["address"], row["system"]) for row in rows]
        named = {each: place for each in of_bills if (place := _place(each))}
        for each in self._watched.keys() - named.keys():
            self._watched.pop(each).stop(1)
            self._health.left(each.server)
            log.info("%s: no bill has named it for an hour; it is not asked any more", each.server)
        left_out = 0
        for each, (host, port) in named.items():
            if meant(each.server, [*self._configured, *self._watched]) is not None:
                continue
            if len(self._watched) >= _MOST:
                left_out += 1
                continue
            self._watched[each] = self._watch[each.system](Address(each.server, each.system, host, port))
            self._watched[each].start()
        self._say(left_out)

    def _say(self, left_out: int) -> None:
        """How many there are beyond the limit, as what this option lacks."""
        words = f"asks {_MOST} caches, not the {left_out} more that bills name: give these to --memcached or --redis"
        if not left_out:
            self._health.left(_OPTION)
        elif self._health.observed(_OPTION, lacks=words):
            log.warning("%s: %s", _OPTION, words)

    def stop(self, within_s: float) -> None:
        """See BackgroundThread."""
        super().stop(within_s)
        for each in self._watched.values():
            each.stopping.set()
        for each in self._watched.values():
            each.stop(within_s)


def _place(cache: Observed) -> tuple[str, int] | None:
    found = _ADDRESS.fullmatch(cache.server)
    port = int(found["port"] or DEFAULT_PORTS[cache.system]) if found else 0
    return (found["host"].strip("[]"), port) if found and 0 < port < 65_536 else None
