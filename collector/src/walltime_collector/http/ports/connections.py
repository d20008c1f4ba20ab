"""
Limits the open connections of a group of ports, and closes the idle ones when others wait.

uvicorn's `limit_concurrency` counts connections of one port after their TLS handshake and only refuses new ones: with
it, clients that hold idle connections stop all others.
"""

from __future__ import annotations

import heapq
import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ...health.counters import CLOSED, Health

log = logging.getLogger(__name__)

_LOG_INTERVAL_S = 15.0
_QUIET = {"silent": 10}
"""Below this count they are not logged: browsers open connections in advance."""
_LIMITS = ("limit", "address_limit", "made_room")
_FLOOD = 16
"""So many new connections within a second, when all are in use, are a flood."""
YOUNG_S = 0.2
"""Age before which a connection is not closed for another one: time for its TLS handshake and first request."""
_MAX_LEAVING = 64
"""Connections that are being closed; each has its descriptor until the next iteration of the event loop."""


class Connection(Protocol):
    """The interface of a port's protocol."""

    def sweep(self, now_s: float) -> None:
        """Close the connection, or one of its requests, after a deadline; `now_s` is the event loop's time."""

    def idle_since_s(self) -> float | None:
        """Since when it is idle or a request has stalled; None while a request is in progress."""

    def unread_bytes(self) -> int:
        """Bytes of responses that the client has not read."""

    def drain(self) -> None:
        """Take no more requests, answer the running ones, then close the connection."""

    def abort(self) -> None:
        """Close the connection now."""


class Slot:
    """One accepted connection, from before its TLS handshake until it is closed."""

    __slots__ = ("address", "cancel", "connection", "connections", "is_leaving", "port", "since_s")

    def __init__(self, connections: Connections, port: str, address: str, since_s: float) -> None:
        self.connections, self.port, self.address, self.since_s = connections, port, address, since_s
        self.connection: Connection | None = None
        """None during the handshake."""
        self.cancel: Callable[[], object] = lambda: None
        """Cancels the handshake."""
        self.is_leaving = False
        """It is being closed to accept another one."""

    def leave(self) -> None:
        """The connection is closed; calling it again is harmless."""
        self.connections.leave(self)

    def note(self, reason: str) -> None:
        """Count and log that this connection is closed; `reason` is one of CLOSED."""
        self.connections.note(self.port, reason, self.address)

    def idle_since_s(self) -> float | None:
        """Like Connection's; a connection in its handshake is idle."""
        return self.since_s if self.connection is None else self.connection.idle_since_s()

    def close(self) -> None:
        """Close the connection now; `leave` follows a moment later."""
        if self.connection is None:
            self.cancel()
        else:
            self.connection.abort()


class Limits(NamedTuple):
    """
    Limits of the ports that share one Connections.

    Args:
        most: Open connections.
        most_per_address: Open connections from one address; for IPv6, from one /64.
        most_unread_bytes: Bytes of responses that clients have not read, together.
        setting: The setting that `most` comes from, for the log.
    """

    most: int
    most_per_address: int
    most_unread_bytes: int
    setting: str


class Connections:
    """
    Counts open connections. When all are in use, the one that is idle longest is closed for a new one.

    For one event loop; `sweep` must be called every second.
    """

    def __init__(self, health: Health, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._health, self._limits, self._clock = health, limits, clock
        self._slots: dict[Slot, None] = {}
        self._leaving = self._rooms_made = 0
        self._by_address: Counter[str] = Counter()
        self._noted: Counter[tuple[str, str]] = Counter()
        self._last_address: dict[tuple[str, str], str] = {}
        self._logged_s: dict[tuple[str, str], float] = {}

    def should_wait(self) -> bool:
        """
        Whether new connections should wait in the kernel's queue: while many others are being closed, and while all
        are in use and the idle ones are young, because their requests may still arrive.
        """
        if self._leaving >= _MAX_LEAVING:
            return True
        if len(self._slots) - self._leaving < self._limits.most:
            return False
        young_s = self._clock() - YOUNG_S
        idle = [slot for slot in self._slots if not slot.is_leaving and slot.idle_since_s() is not None]
        return bool(idle) and all(slot.since_s > young_s for slot in idle)

    def enter(self, port: str, host: str) -> Slot | None:
        """Count a new connection; None when it is over a limit and must be closed at once."""
        address = limited_address(host)
        if self._by_address[address] >= self._limits.most_per_address < self._limits.most:
            self.note(port, "address_limit", address)
            return None
        if len(self._slots) - self._leaving >= self._limits.most and not self._make_room():
            self.note(port, "limit", address)
            return None
        slot = Slot(self, port, address, self._clock())
        self._slots[slot] = None
        self._by_address[address] += 1
        return slot

    def leave(self, slot: Slot) -> None:
        """Count a closed connection; calling it again is harmless."""
        if slot in self._slots:
            del self._slots[slot]
            self._leaving -= slot.is_leaving
            self._by_address[slot.address] -= 1
            if not self._by_address[slot.address]:
                del self._by_address[slot.address]

    def of(self, port: str) -> list[Connection]:
        """The open connections of one port; those in their handshake are not among them."""
        return [slot.connection for slot in self._slots if slot.port == port and slot.connection is not None]

    def note(self, port: str, reason: str, address: str) -> None:
        """Count and log a connection that is refused or closed; `reason` is one of CLOSED."""
        self._health.add(f"closed_{port}_{reason}")
        if reason in _LIMITS:
            self._health.add("refused_connections")
        self._noted[port, reason] += 1
        self._last_address[port, reason] = address

    def sweep(self, now_s: float) -> None:
        """Apply the deadlines, and write the log lines that are due."""
        self._rooms_made = 0
        unread: list[tuple[float, int, Slot]] = []
        for slot in [*self._slots]:
            if slot.connection is not None:
                slot.connection.sweep(now_s)
                if waiting := slot.connection.unread_bytes():
                    unread.append((slot.since_s, waiting, slot))
        self._bound(unread)
        for key in [*self._noted]:
            if (
                self._noted[key] >= _QUIET.get(key[1], 1)
                and now_s - self._logged_s.get(key, -_LOG_INTERVAL_S) >= _LOG_INTERVAL_S
            ):
                self._log(key)
                self._logged_s[key] = now_s

    def _make_room(self) -> bool:
        staying = [slot for slot in self._slots if not slot.is_leaving]
        # the address and the port with most connections lose one first: a flood ends its own connections
        by_port = Counter(slot.port for slot in staying)
        young_s = self._clock() - YOUNG_S
        idle = [
            (-self._by_address[slot.address], -by_port[slot.port], since_s, at, slot)
            for at, slot in enumerate(staying)
            if slot.since_s <= young_s and (since_s := slot.idle_since_s()) is not None
        ]
        self._rooms_made += 1
        # in a flood several at once: a search through all of them for each new connection would cost too much
        count = 1 if self._rooms_made <= _FLOOD else 1 + self._limits.most // 16
        for *_, slot in heapq.nsmallest(count, idle):
            slot.is_leaving = True
            self._leaving += 1
            slot.note("made_room")
            slot.close()
        return bool(idle)

    def _bound(self, unread: list[tuple[float, int, Slot]]) -> None:
        total = sum(size for _, size, _ in unread)
        for _, size, slot in sorted(unread, key=lambda each: each[:2]):
            if total <= self._limits.most_unread_bytes:
                return
            if slot.connection is not None:
                slot.note("unread_answers")
                slot.connection.abort()
                total -= size

    def _log(self, key: tuple[str, str]) -> None:
        port, reason = key
        advice = f"; see {self._limits.setting}" if reason in _LIMITS else ""
        log.warning(
            # the log limits repeats of a format: each port and reason has its own
            f"{port} port: %d connections {CLOSED[reason]} (the last from %s; %d of at most %d are open%s)",
            self._noted.pop(key),
            self._last_address.pop(key) or "an unknown address",
            len(self._slots),
            self._limits.most,
            advice,
        )


def limited_address(host: str) -> str:
    """The address that limits count: one machine may have every address of an IPv6 /64."""
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, 64), strict=False)) if not address.is_loopback else host
