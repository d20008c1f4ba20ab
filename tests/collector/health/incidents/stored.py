"""Incidents in the table, as the collector stores them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.health.incidents.current import Current
from walltime_collector.query.incidents.answer import Change
from walltime_collector.query.incidents.history import Series
from walltime_collector.query.incidents.looks import KindName
from walltime_collector.query.windows import Window

from tests.servers import with_tables

SECOND_NS = 1_000_000_000


def slower(name: str, *, service: str = "shop", server: str = "10.0.0.11:11211", ago_s: int = 60) -> Current:
    """An open incident that began at a minute, so long ago: twice the time, and misses on a server."""
    at_s = int(time.time()) - ago_s
    incident = Current(KindName(service, name), at_s // 60 * 60, at_s, at_s)
    changed = (Change("time", "", "", 4e6, 9e6, 9.5e6), Change("hit_ratio", "memcache.get", server, 0.96, 0.12, 0.1))
    incident.changes = {Series(each.measure, each.component, each.address): each for each in changed}
    incident.headline, incident.explained_s = "It <b>takes</b> longer.", at_s
    incident.usual = Window((incident.started_s - 600) * SECOND_NS, incident.started_s * SECOND_NS)
    return incident


def store(engine: Engine, *incidents: Current) -> None:
    """Store them in their present state."""
    rows = "\n".join(json.dumps(each.row("this", each.opened_s)) for each in incidents)
    engine.insert_rows("incidents", rows.encode(), f"test-{time.time_ns()}")


def with_incidents(
    directory: Path, *incidents: Current, status: Mapping[str, Sequence[Mapping[str, Any]]] | None = None
) -> Path:
    """The data directory of a collector that has stored them, and what observed servers said, by table."""
    engine = EmbeddedEngine(with_tables(directory / "chdb"), "walltime")
    store(engine, *incidents)
    for table, rows in (status or {}).items():
        engine.insert_rows(table, "\n".join(map(json.dumps, rows)).encode(), f"test-{table}")
    engine.close()
    return directory
