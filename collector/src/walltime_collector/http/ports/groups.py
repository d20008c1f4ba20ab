"""The two groups of ports with common limits: senders' (gRPC, HTTP) and readers' (web, ClickHouse)."""

from __future__ import annotations

from ...config.settings import Settings, is_loopback
from ...health.counters import Health
from .connections import Connections, Limits
from .descriptors import divide


def groups(settings: Settings, health: Health, descriptors: int) -> tuple[Connections, Connections]:
    """
    Return the connections of senders, and of readers.

    Args:
        descriptors: Maximum open files of this process.
    """
    budget = divide(descriptors, settings)
    senders = _limits(
        "max_connections",
        budget.otlp,
        settings.max_connections_per_address,
        settings.max_in_flight_bytes,
        settings.grpc,
        settings.http,
    )
    readers = _limits(
        "max_read_connections",
        budget.read,
        settings.max_read_connections_per_address,
        settings.max_in_flight_bytes,
        settings.web,
        settings.clickhouse_http,
    )
    return Connections(health, senders), Connections(health, readers)


def _limits(setting: str, most: int, per_address: int, most_unread_bytes: int, *addresses: str) -> Limits:
    # where only this machine can reach the ports, all clients have one address
    is_local = all(is_loopback(each.rpartition(":")[0].strip("[]")) for each in addresses if each)
    return Limits(most, most if is_local else min(per_address, most), most_unread_bytes, setting)
