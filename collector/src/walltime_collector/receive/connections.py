"""The open connections of the OTLP ports: how many there may be, together and from one address."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Protocol

from ..health import Health


class Connection(Protocol):
    """What both ports' connections can be asked for."""

    def sweep(self, now_s: float) -> None:
        """End itself, or what of it takes longer than it may; `now_s` is the event loop's time."""


class Connections:
    """Counts connections in and out; both ports share one."""

    def __init__(self, health: Health, *, most: int, most_per_address: int) -> None:
        self._health, self._most, self._most_per_address = health, most, most_per_address
        self._address_of: dict[Connection, str] = {}
        self._by_address: Counter[str] = Counter()

    def enter(self, connection: Connection, transport: asyncio.BaseTransport) -> bool:
        """Count a connection in; False when it is one too many, and must be closed at once."""
        address = str((transport.get_extra_info("peername") or ("",))[0])
        if len(self._address_of) >= self._most or self._by_address[address] >= self._most_per_address:
            self._health.add("refused_connections")
            return False
        self._address_of[connection] = address
        self._by_address[address] += 1
        return True

    def leave(self, connection: Connection) -> None:
        """Count it out; one that was refused is not in."""
        address = self._address_of.pop(connection, None)
        if address is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def sweep(self, now_s: float) -> None:
        """End what takes too long, on all of them; somebody calls this every second."""
        for each in [*self._address_of]:
            each.sweep(now_s)
