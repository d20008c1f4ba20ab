"""Divides the file descriptors at start: connections never take those that spool, engine and logs need."""

from __future__ import annotations

import contextlib
import logging
import resource
from typing import NamedTuple

from ...config.settings import Settings, is_loopback
from ...health.counters import Health
from .connections import Connections, Limits

log = logging.getLogger(__name__)

RESERVE = 160
"""For the process itself: about 30 when idle, one per concurrent query, files of the spool."""
_PER_SLOW_LOG = 4
_MIN_CONNECTIONS = 8
"""Of each group, even when the limit is too small for them."""


class Budget(NamedTuple):
    """Maximum open connections from OTLP senders, and from readers (web and ClickHouse ports together)."""

    otlp: int
    read: int


def raise_limit() -> int:
    """Raise the limit of open files of this process as far as permitted; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):  # some systems report an infinite hard limit and refuse it
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    return soft if soft != resource.RLIM_INFINITY else 1 << 30


def divide(limit: int, settings: Settings) -> Budget:
    """
    Divide a limit of open files between the process itself, OTLP senders and readers.

    If the settings allow more connections than fit, readers get a quarter of the rest, senders the others, and a
    warning is logged.
    """
    reserve = RESERVE + _PER_SLOW_LOG * len(settings.slow_log)
    wanted = Budget(settings.max_connections, settings.max_read_connections)
    left = limit - reserve
    if left >= sum(wanted):
        return wanted
    read = min(wanted.read, max(left // 4, _MIN_CONNECTIONS))
    budget = Budget(min(wanted.otlp, max(left - read, _MIN_CONNECTIONS)), read)
    log.warning(
        "this process may open %d files; %d are reserved for itself, so at most %d OTLP connections (max_connections "
        "%d) and %d reading connections (max_read_connections %d) are accepted; raise the limit to %d (systemd: "
        "LimitNOFILE=, shell: ulimit -n, containers: nofile), or lower these settings",
        limit,
        reserve,
        budget.otlp,
        wanted.otlp,
        budget.read,
        wanted.read,
        reserve + sum(wanted),
    )
    return budget


def groups(settings: Settings, health: Health, descriptors: int) -> tuple[Connections, Connections]:
    """The connections of the senders' ports (gRPC, HTTP) and of the readers' (web, ClickHouse), with common limits."""
    budget = divide(descriptors, settings)

    def group(setting: str, most: int, *addresses: str) -> Connections:
        # where only this machine can reach the ports, all clients have one address
        is_local = all(is_loopback(each.rpartition(":")[0].strip("[]")) for each in addresses if each)
        per_address = most if is_local else min(getattr(settings, f"{setting}_per_address"), most)
        return Connections(health, Limits(most, per_address, settings.max_in_flight_bytes, setting))

    return (
        group("max_connections", budget.otlp, settings.grpc, settings.http),
        group("max_read_connections", budget.read, settings.web, settings.clickhouse_http),
    )
