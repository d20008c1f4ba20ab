"""The open connections of a group of ports: how many there may be, and how long each may do nothing."""

from __future__ import annotations

import heapq
import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ...health.counters import Health
from .reasons import REASONS

log = logging.getLogger(__name__)

_LOG_EVERY_S = 15.0
_QUIET = {"silent": 10}
"""So many of these are nothing to log: browsers open connections in advance."""
_LIMITS = ("limit", "address_limit", "made_room")
_FLOOD = 16
"""So many newcomers within a second, when all connections are in use, are a flood."""
YOUNG_S = 0.2
"""A connection has so long for its first request, or for its TLS handshake, before it may be closed for another."""
_MOST_LEAVING = 64
"""A connection that is asked to close has its descriptor until the event loop's next turn."""


class Connection(Protocol):
    """What a port's protocol can be asked."""

    def sweep(self, now_s: float) -> None:
        """Close the connection, or a request of it, when a deadline is over; `now_s` is the event loop's time."""

    def idle_since_s(self) -> float | None:
        """Since when no request arrives, runs or is answered, or one has stalled; None while one goes on."""

    def unread_bytes(self) -> int:
        """Bytes of answers that wait for the peer to read them."""

    def abort(self) -> None:
        """Close the connection now, whatever it does."""


class Slot:
    """One accepted connection, from before its TLS handshake until it is closed."""

    __slots__ = ("address", "cancel", "connection", "connections", "is_leaving", "port", "since_s")

    def __init__(self, connections: Connections, port: str, address: str, since_s: float) -> None:
        self.connections, self.port, self.address, self.since_s = connections, port, address, since_s
        self.connection: Connection | None = None
        """None during the handshake."""
        self.cancel: Callable[[], object] = lambda: None
        """Gives up the handshake."""
        self.is_leaving = False
        """It was asked to close, to make room."""

    def leave(self) -> None:
        """The connection is closed; again is harmless."""
        self.connections.leave(self)

    def note(self, reason: str) -> None:
        """Count and log that this connection is refused or closed; `reason` is one of REASONS."""
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
    Of the ports that share one Connections.

    Args:
        most: Open connections.
        most_per_address: Of them, from one address; of IPv6, from one /64.
        most_unread_bytes: Answers that wait for their readers, together.
        setting: The setting that `most` comes from, for the log.
    """

    most: int
    most_per_address: int
    most_unread_bytes: int
    setting: str


class Connections:
    """
    Counts connections in and out. When all are in use, the one that is idle longest makes room for a new one.

    One event loop uses it; somebody calls `sweep` every second.
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
        Whether newcomers should wait in the kernel's queue.

        So they do while many that were asked to close have not yet, and when all connections are in use and the idle
        ones are only just accepted: their requests may be on their way.
        """
        if self._leaving >= _MOST_LEAVING:
            return True
        if len(self._slots) - self._leaving < self._limits.most:
            return False
        young_s = self._clock() - YOUNG_S
        idle = [slot for slot in self._slots if not slot.is_leaving and slot.idle_since_s() is not None]
        return bool(idle) and all(slot.since_s > young_s for slot in idle)

    def enter(self, port: str, host: str) -> Slot | None:
        """Count a connection in; None when it is one too many, and must be closed at once."""
        address = _counted_as(host)
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
        """Count a connection out; again is harmless."""
        if slot in self._slots:
            del self._slots[slot]
            self._leaving -= slot.is_leaving
            self._by_address[slot.address] -= 1
            if not self._by_address[slot.address]:
                del self._by_address[slot.address]

    def note(self, port: str, reason: str, address: str) -> None:
        """Count and log a connection that is refused or closed for a reason of REASONS."""
        self._health.add(f"closed_{port}_{reason}")
        if reason in _LIMITS:
            self._health.add("refused_connections")
        self._noted[port, reason] += 1
        self._last_address[port, reason] = address

    def sweep(self, now_s: float) -> None:
        """Close what is over its deadlines, and write the log lines that are due."""
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
                and now_s - self._logged_s.get(key, -_LOG_EVERY_S) >= _LOG_EVERY_S
            ):
                self._log(key)
                self._logged_s[key] = now_s

    def _make_room(self) -> bool:
        staying = [slot for slot in self._slots if not slot.is_leaving]
        # who has most gives first: a flood from one address, or to one port, ends its own connections
        by_port = Counter(slot.port for slot in staying)
        young_s = self._clock() - YOUNG_S
        idle = [
            (-self._by_address[slot.address], -by_port[slot.port], since_s, at, slot)
            for at, slot in enumerate(staying)
            if slot.since_s <= young_s and (since_s := slot.idle_since_s()) is not None
        ]
        self._rooms_made += 1
        # in a flood several at once: to look through all of them for each newcomer would be the greater harm
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
            # the log bounds lines by their text before the numbers: each port and reason is a text of its own
            f"{port} port: %d connections {REASONS[reason]} (the last from %s; %d of at most %d are open%s)",
            self._noted.pop(key),
            self._last_address.pop(key) or "an unknown address",
            len(self._slots),
            self._limits.most,
            advice,
        )


def _counted_as(host: str) -> str:
    """The address that limits are counted by: one machine may have every address of an IPv6 /64."""
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, 64), strict=False)) if not address.is_loopback else host
