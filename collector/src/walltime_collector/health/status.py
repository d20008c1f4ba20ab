"""The data of `walltime status`: counters, spool, tables, and the other collectors of the database."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from ..clickhouse.engine import Engine
from ..clickhouse.retention import ttls
from ..config.settings import Settings
from ..errors import EngineError
from ..query.queries import run
from ..spool.directory import room
from .counters import Health

COLLECTORS_WITHIN_S = 3600


@dataclass(frozen=True)
class Spans:
    """received = stored + rejected + spooled + dead + lost, while no request is in progress."""

    received: int
    stored: int
    rejected: int
    spooled: int
    dead: int
    lost: int


@dataclass(frozen=True)
class Spool:
    """The data that waits on disk."""

    size_bytes: int
    limit_bytes: int
    oldest_s: float
    """Age of the oldest data that waits: how far the database is behind."""
    disk_free_bytes: int
    disk_bytes: int


@dataclass(frozen=True)
class Table:
    """A table with rows; `oldest` and `newest` are its days where it has daily partitions."""

    name: str
    rows: int
    parts: int
    compressed_bytes: int
    uncompressed_bytes: int
    disk_bytes: int
    oldest: str
    newest: str
    retention_days: int
    """0: forever."""


@dataclass(frozen=True)
class Other:
    """A collector that writes into the same tables; sums over the last hour."""

    collector: str
    host: str
    last_minute_s: int
    is_ok: bool
    spooled: int
    received: int
    stored: int
    lost: int


@dataclass(frozen=True)
class Loss:
    """
    Losses that the processes of a service report since their start; of processes that sent data since yesterday.

    `what` is `lost.<reason>`, in transactions, or `outside.calls`: calls outside of any transaction, on no bill. Of
    processes without any transaction they are counted again under what these are: `outside.wsgi.bottle`.
    """

    service: str
    what: str
    count: int
    processes: int


@dataclass(frozen=True)
class OverLimit:
    """A service over the cardinality limit, and its transactions that are `_OTHER` since the beginning of yesterday."""

    service: str
    transactions: int


@dataclass(frozen=True)
class Reason:
    """Why data does not move; `what` is for the admin."""

    reason: str
    what: str = ""


@dataclass(frozen=True)
class Status:
    """The state of the collector; counters are since its start."""

    version: str
    now_ns: int
    """The collector's clock."""
    started_s: float
    is_ok: bool
    is_ready: bool
    troubles: tuple[Reason, ...]
    spans: Spans
    spool: Spool
    refused: Mapping[str, int]
    """Requests answered with an error, by reason."""
    counts: Mapping[str, int]
    slow_logs: Mapping[str, str]
    """Path → why it cannot be followed, or empty; for the admin."""
    servers: Mapping[str, tuple[str, str]]
    """Observed server → why it cannot be asked, and what it lacks; both empty while all is well. For the admin."""
    engine: str
    """`embedded`, or the server's address."""
    listens: Mapping[str, str]
    """Port name → URL."""
    engine_error: str = ""
    """Why there are no tables here."""
    incidents_error: str = ""
    """Why the last look for incidents failed."""
    tables: tuple[Table, ...] = ()
    collectors: tuple[Other, ...] = ()
    sdk_losses: tuple[Loss, ...] = ()
    over_limit: tuple[OverLimit, ...] = ()


def status(engine: Engine, health: Health, settings: Settings, listens: Mapping[str, str]) -> Status:
    """Query the status; without the engine, the parts that do not need it."""
    report = health.report()
    counts, gauges = report["counts"], report["gauges"]
    disk_free_bytes, disk_bytes = room(settings.data)
    return Status(
        version=version("walltime-collector"),
        now_ns=time.time_ns(),
        started_s=report["started_s"],
        is_ok=report["ok"],
        is_ready=report["ready"],
        troubles=tuple(Reason(**trouble) for trouble in report["troubles"]),
        spans=Spans(**report["spans"]),
        spool=Spool(
            size_bytes=int(gauges.get("spool_bytes", 0)),
            limit_bytes=settings.max_spool_bytes,
            oldest_s=gauges.get("spool_oldest_s", 0.0),
            disk_free_bytes=disk_free_bytes,
            disk_bytes=disk_bytes,
        ),
        refused={name[8:]: count for name, count in counts.items() if name.startswith("refused_")},
        counts={name: count for name, count in counts.items() if not name.startswith("refused_")},
        slow_logs=report["slow_logs"],
        servers=report["servers"],
        engine=settings.clickhouse or "embedded",
        listens=listens,
        incidents_error=report["incidents_error"],
        **_query_engine(engine),
    )


def _query_engine(engine: Engine) -> dict[str, Any]:
    """The fields that need the engine; without it only `engine_error`."""
    try:
        days = {name: days for name, (_, days) in ttls(engine).items()}
        tables = tuple(
            Table(**row, retention_days=days.get(row["name"].removesuffix("_local"), 0))
            for row in run(engine, "status/tables")
        )
        return {
            "tables": tables,
            "collectors": tuple(Other(**row) for row in run(engine, "status/collectors", within_s=COLLECTORS_WITHIN_S)),
            "sdk_losses": tuple(Loss(**row) for row in run(engine, "status/sdk_losses")),
            "over_limit": tuple(OverLimit(**row) for row in run(engine, "status/over_limit")),
        }
    except EngineError as error:
        return {"engine_error": str(error)}
