"""The applications that send data, for `walltime doctor`: their SDKs, losses, clocks and uncovered time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from ..clickhouse.engine import Engine
from ..query.names import METHODS
from ..query.queries import run
from .status import Loss

_MOST_CALLS = 2_000_000
_LEAST_UNCOVERED_NS = 5_000_000
"""A transaction: a framework alone takes up to some ms for a page of one line, and nothing can be done about that."""
_DAY_NS = 86_400_000_000_000


@dataclass(frozen=True)
class Uncovered:
    """
    A kind whose time in the last hour is mostly on no line.

    `other_ns` is in no component but view and middleware, and on no line that was sampled.
    """

    name: str
    transactions: int
    time_ns: int
    other_ns: int
    cpu_ns: int


@dataclass(frozen=True)
class Clock:
    """How far, at least, a host's clock is ahead of the database's or behind its caller's; 0 when it is not."""

    host: str
    ahead_ns: int
    behind_ns: int


@dataclass
class Application:
    """A service that sent data in the last week; its numbers are those of the last day."""

    service: str
    first_minute_s: int = 0
    last_minute_s: int = 0
    transactions: int = 0
    errors: int = 0
    time_ns: int = 0
    uncovered_ns: int = 0
    """In no component but view and middleware."""
    other_ns: int = 0
    """Of uncovered_ns: on no line that was sampled."""
    without_route: int = 0
    """Transactions whose name is only a method."""
    busy_minutes: int = 0
    """Minutes of the last day that had a transaction."""
    sdks: list[str] = field(default_factory=list)
    """Names and versions: `walltime 0.1.0`; of very many kept calls from a sample."""
    losses: list[Loss] = field(default_factory=list)
    uncovered: list[Uncovered] = field(default_factory=list)
    clocks: list[Clock] = field(default_factory=list)


@dataclass(frozen=True)
class Applications:
    """All of them, the one that sent last first."""

    now_s: float
    """The collector's clock."""
    applications: tuple[Application, ...]


def applications(engine: Engine) -> Applications:
    """
    Query what is stored of each service.

    Raises:
        EngineUnavailable: The engine does not answer now.
    """
    services = {}
    for row in run(engine, "status/applications", methods=sorted(METHODS)):
        numbers: dict[str, Any] = {name: int(value) for name, value in row.items() if name != "service"}
        services[str(row["service"])] = Application(row["service"], **numbers)
    for row in run(engine, "status/sdk_losses"):
        if row["service"] != "walltime.doctor":
            services.setdefault(row["service"], Application(row["service"])).losses.append(Loss(**row))
    for row in run(engine, "status/applications_sdks", below=_traces_below(engine)):
        if row["service"] in services:
            known = [sdk for sdk in row["sdks"] if sdk != "walltime"]  # of an SDK without its version in the resource
            services[row["service"]].sdks.extend(sorted(known or row["sdks"]))
    for row in run(engine, "status/applications_coverage", least_ns=_LEAST_UNCOVERED_NS):
        if row["service"] in services:
            sums = (int(row[name]) for name in ("transactions", "time_ns", "other_ns", "cpu_ns"))
            services[row["service"]].uncovered.append(Uncovered(row["name"], *sums))
    for row in run(engine, "status/applications_clocks"):
        if row["service"] in services:
            clock = Clock(row["host"], int(row["ahead_ns"]), int(row["behind_ns"]))
            services[row["service"]].clocks.append(clock)
    return Applications(time.time(), tuple(services.values()))


def _traces_below(engine: Engine) -> str:
    """Trace ids are random and order the calls: so many digits that about _MOST_CALLS of a day are below them."""
    now_ns = time.time_ns()
    (stored,) = run(engine, "kept/stored", start_ns=now_ns - _DAY_NS, end_ns=now_ns)
    share = min(_MOST_CALLS / max(int(stored["spans"]), 1), 1.0)
    return f"{min(int(share * 2**128), 2**128 - 1):032x}"
