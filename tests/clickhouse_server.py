"""Starts tests/clickhouse_on_chdb.py in a process of its own, and says what should go wrong there."""

from __future__ import annotations

import json
import os
import ssl
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
from shop.process import Service, free_port
from walltime_collector.clickhouse.server.engine import ServerEngine

from tests.clickhouse_on_chdb import Fault

__all__ = ["ClickHouseServer", "Fault"]

ROOT = Path(__file__).parents[1]


class ClickHouseServer(Service):
    """A ClickHouse server's HTTP interface over chDB; stopped and started again it keeps its port and its data."""

    user = "walltime"
    password = "s3cret & ü/%"

    def __init__(
        self, folder: Path, cluster: str = "", certificate: Path | None = None, client_ca: Path | None = None
    ) -> None:
        self.cluster, self.certificate, self.client_ca = cluster, certificate, client_ca
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
        super().__init__("clickhouse", folder, {"PYTHONPATH": path, "CLICKHOUSE_PASSWORD": self.password})

    def command(self) -> Sequence[str | Path]:
        self.port = self.port or free_port()
        program = (sys.executable, "-m", "tests.clickhouse_on_chdb", self.folder / "server")
        return [*program, "--port", str(self.port), "--user", self.user, "--cluster", self.cluster, *self._tls()]

    def _tls(self) -> Iterator[str | Path]:
        if self.certificate is not None:
            yield from ("--certificate", self.certificate)
        if self.client_ca is not None:
            yield from ("--client-ca", self.client_ca)

    def _context(self) -> ssl.SSLContext | bool:
        if self.certificate is None:
            return True
        context = ssl.create_default_context(cafile=self.client_ca)
        context.load_cert_chain(self.certificate)
        return context

    def answers(self) -> bool:
        return "ready http=" in self.output()

    @property
    def url(self) -> str:
        return f"{'https' if self.certificate else 'http'}://{self.address}"

    def engine(self, database: str = "walltime", **other: Any) -> ServerEngine:
        """The collector's engine on this server; the caller's to close."""
        said = {"user": self.user, "password": self.password, "database": database, "timeout_s": 30}
        return ServerEngine(self.url, **{**said, "cluster": self.cluster, **other})

    def goes_wrong(self, *faults: Fault) -> None:
        """What happens to the next statements that match; replaces what was asked before."""
        said = json.dumps([asdict(fault) for fault in faults])
        httpx.post(f"{self.url}/faults", content=said, verify=self._context()).raise_for_status()

    def seen(self) -> dict[str, Any]:
        """The requests so far, and how many faults are still to come."""
        seen: dict[str, Any] = httpx.get(f"{self.url}/seen", verify=self._context()).json()
        return seen

    def statements(self) -> dict[str, list[str]]:
        """Every statement so far, without its data, and the names of the settings that were sent with it."""
        sent: dict[str, list[str]] = httpx.get(f"{self.url}/statements", verify=self._context()).json()
        return sent
