"""Builds the threads that observe the servers of the settings."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ..clickhouse.engine import Engine
from ..config.settings import Settings
from ..health.counters import Health
from ..slowlog.reader import named
from .address import parse
from .caches.servers import caches
from .look import Look
from .mysql import connection
        looks: list[Look[connection.Connection]] = [
            *(look(address.name, writer) for look in (StatusLook, LockWaits, Deadlocks))
        ]
        if address.name in {name for name, _ in map(named, settings.slow_log)}:
            log.info("%s: its statements are read from its slow log, not from performance_schema", address.name)
        else:
            root = settings.data / _STATEMENTS
            looks.append(Statements(address.name, writer, health, root, may_set_up=settings.mysql_setup))
        connect = partial(connection.connect, address)
        yield Watched(address.name, connect, looks, health, connection.explain)
