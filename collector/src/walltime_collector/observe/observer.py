"""Builds the threads that observe the servers of the settings."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ..background import BackgroundThread
from ..clickhouse.engine import Engine
from ..config.settings import Settings
from ..health.counters import Health
from .address import parse
from .look import Look
from .mysql import connection
from .mysql.locks.deadlocks import Deadlocks
from .mysql.locks.look import LockWaits
from .mysql.plans.explainer import Explainer
from .mysql.statements.batches import StatementStore
from .mysql.statements.look import Statements
from .mysql.status import StatusLook
from .slowlog.reader import named
from .watched import Watched
from .writer import Writer

log = logging.getLogger(__name__)

_STATEMENTS = "statements"
"""In the data folder: statements that were read and are not yet stored."""


class Observer:
    """
    All observed servers, a thread for each, and the thread that stores what they said.

    Raises:
        SettingsRefused: An address is wrong.
    """

    def __init__(self, settings: Settings, engine: Engine, health: Health) -> None:
        self._writer = Writer(engine, health)
        self.explainer = Explainer(
            self._writer, engine, by_itself=settings.mysql_explain, may_set_up=settings.mysql_setup
        )
        self._statements = StatementStore(settings.data / _STATEMENTS, engine, health)
        self._servers: Sequence[BackgroundThread] = [
            *_servers(settings, self._writer, health, self.explainer),
            *_caches(settings, self._writer, engine, health),
        ]

    def start(self) -> None:
        """Start the threads; without a server there is none."""
        for thread in (self._writer, self._statements, *self._servers) if self._servers else ():
            thread.start()

    def stop(self) -> None:
        """Stop asking, then store what was found."""
        if not self._servers:
            return
        for server in self._servers:
            server.stopping.set()
        for server in self._servers:
            server.stop(1)
        self._statements.stop(2)
        self._writer.stop(2)


def _servers(settings: Settings, writer: Writer, health: Health, explainer: Explainer) -> Iterator[Watched[Any]]:
    """Those of `mysql`."""
    for text in settings.mysql:
        where = settings.where("mysql", "--mysql")
        address = parse(text, where, "mysql", connection.OPTIONS, settings.secret("mysql_password"))
        connection.check(address, where)
        looks: list[Look[connection.Connection]] = [
            *(look(address.name, writer) for look in (StatusLook, LockWaits, Deadlocks)),
            *explainer.looks(address),
        ]
        if address.name in {name for name, _ in map(named, settings.slow_log)}:
            log.info("%s: its statements are read from its slow log, not from performance_schema", address.name)
        else:
            root = settings.data / _STATEMENTS
            looks.append(Statements(address.name, writer, health, root, may_set_up=settings.mysql_setup))
        connect = partial(connection.connect, address)
        yield Watched(address.name, connect, looks, health, connection.explain)


def _caches(settings: Settings, writer: Writer, engine: Engine, health: Health) -> Iterator[BackgroundThread]:
    """Those of `memcached`, `redis` and `discover_caches`."""
    if settings.memcached or settings.redis or settings.discover_caches:
        from .caches.servers import caches  # their drivers take 0.1 s to import

        yield from caches(settings, engine, writer, health)
