"""Observed databases and caches: the one that an address in the bills means, and what happened on them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..clickhouse.engine import Engine
from ..conversion import from_row
from .queries import run
from .windows import Window

DEFAULT_PORTS: Mapping[str, int] = {"mysql": 3306, "memcached": 11211, "redis": 6379, "rediss": 6379}
_LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|::1", re.IGNORECASE)
_MOST_EVENTS = 200
_HOST_AND_PORT = re.compile(r"(?:\[(?P<v6>[^]]*)\]|(?P<host>[^/:]*))(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True)
class Observed:
    """A database or cache that was asked."""

    server: str
    """As the settings name it: the column `server` of what it said."""
    system: str
    """mysql, memcached or redis."""


def servers(engine: Engine, window: Window) -> tuple[Observed, ...]:
    """
    Those that answered within the window, by name.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows = run(engine, "servers/observed", start_ns=window.start_ns, end_ns=window.end_ns)
    return tuple(from_row(Observed, row) for row in rows)


def observed(engine: Engine, address: str, window: Window) -> str | None:
    """
    The observed server that an address of the bills (`target.address`) means; None when it is none of them.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    return meant(address, servers(engine, window))


def meant(address: str, known: Sequence[Observed]) -> str | None:
    """
    The server of this address: of the same name, or the only one of this host whose port is no other one.

    `localhost`, 127.0.0.1 and ::1 are one host, and a name without a port means its system's usual one.
    """
    if any(address == each.server for each in known):
        return address
    same = {each.server for each in known if _place(address, each.system) == _place(each.server, each.system)}
    return same.pop() if len(same) == 1 else None


def _place(address: str, system: str) -> tuple[str, int]:
    """Host and port; the path of a socket is its own host."""
    found = _HOST_AND_PORT.fullmatch(address)
    host, port = (found["v6"] or found["host"], found["port"]) if found else (address, None)
    return "localhost" if _LOOPBACK.fullmatch(host) else host.casefold(), int(port or DEFAULT_PORTS[system])


@dataclass(frozen=True)
class ServerEvent:
    """Something that happened on a server; `end_ns` equals `start_ns` where it took no time."""

    start_ns: int
    end_ns: int
    server: str
    system: str
    """mysql, memcached or redis."""
    event: str
    """One of observe.events.Event."""
    what: str
    """A sentence."""
    number: float
    details: Mapping[str, str]


def events(
    engine: Engine, window: Window, servers: Sequence[str] = (), events: Sequence[str] = ()
) -> tuple[ServerEvent, ...]:
    """
    Those in the window, also what began before and was not over; the oldest first, of very many the newest.

    Args:
        servers: Of these alone, by their observed names; none means all. `events` likewise.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    limits = {"start_ns": window.start_ns, "end_ns": window.end_ns, "limit": _MOST_EVENTS}
    rows = run(engine, "servers/events", **limits, servers=servers, events=events)
    return tuple(from_row(ServerEvent, row) for row in reversed(rows))
