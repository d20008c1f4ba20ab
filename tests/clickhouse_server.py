"""Starts tests/clickhouse_on_chdb.py in a process of its own, and says what should go wrong there."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
from shop.process import Service, free_port
from walltime_collector.engine.server import ServerEngine

from tests.clickhouse_on_chdb import Fault

__all__ = ["ClickHouseServer", "Fault"]

ROOT = Path(__file__).parents[1]


class ClickHouseServer(Service):
    """A ClickHouse server's HTTP interface over chDB; stopped and started again it keeps its port and its data."""

    user = "walltime"
    password = "s3cret & ü/%"

    def __init__(self, folder: Path) -> None:
        super().__init__("clickhouse", folder, {"PYTHONPATH": str(ROOT), "CLICKHOUSE_PASSWORD": self.password})

    def command(self) -> Sequence[str | Path]:
        self.port = self.port or free_port()
        program = (sys.executable, "-m", "tests.clickhouse_on_chdb", self.folder / "server")
        return [*program, "--port", str(self.port), "--user", self.user]

    def answers(self) -> bool:
        return "ready http=" in self.output()

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def engine(self, database: str = "walltime", **other: Any) -> ServerEngine:
        """The collector's engine on this server; the caller's to close."""
        said = {"user": self.user, "password": self.password, "database": database, "timeout_s": 30, **other}
        return ServerEngine(self.url, **said)

    def goes_wrong(self, *faults: Fault) -> None:
        """What happens to the next statements that match; replaces what was asked before."""
        httpx.post(f"{self.url}/faults", content=json.dumps([asdict(fault) for fault in faults])).raise_for_status()

    def seen(self) -> dict[str, Any]:
        """The requests so far, and how many faults are still to come."""
        seen: dict[str, Any] = httpx.get(f"{self.url}/seen").json()
        return seen
