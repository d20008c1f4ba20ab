"""Reads a server's statements as the collector does, and shows the rows instead of storing them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shop.services import MariaDB
from walltime_collector.health.counters import Health
from walltime_collector.observe.address import Address
from walltime_collector.observe.mysql.connection import Connection, connect
from walltime_collector.observe.mysql.statements.look import Statements
from walltime_collector.observe.writer import Row, Writer


class Reader:
    """
    A look at the statements of a server, with its connection.

    Args:
        folder: What it knows is in there; another reader goes on where this one stopped.
    """

    def __init__(self, server: MariaDB, folder: Path, *, may_set_up: bool = False, **account: str) -> None:
        self.folder, self.health, self.events = folder, Health(), Events()
        user, password = account.get("user", "admin"), account.get("password", server.admin_password)
        self.address = Address("db:3306", "mysql", "127.0.0.1", server.port, user, password)
        self.connection: Connection = connect(self.address)
        self._look = Statements("db:3306", self.events, self.health, folder, may_set_up=may_set_up)
        self.lacks = self._look.opened(self.connection)

    def look(self) -> None:
        """Look once, and write what was found."""
        self._look.look(self.connection)
        self._look.write()

    def look_only(self) -> None:
        """Look once; what was found may be in memory only."""
        self._look.look(self.connection)

    @property
    def lost(self) -> int:
        """Statements that were overwritten, says the counter."""
        counted: int = self.health.report()["counts"].get("statements_overwritten", 0)
        return counted


class Events(Writer):
    """Keeps the rows of server_events."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, table: str, rows: Any) -> None:
        assert table == "server_events"
        self.rows += rows


def rows(folder: Path) -> list[Mapping[str, Any]]:
    """What all readers of this folder have written."""
    found = []
    for path in sorted(folder.glob("*/*.journal")):
        found += [json.loads(line) for line in path.read_bytes().splitlines()[1:]]
    return found
