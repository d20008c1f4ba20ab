"""Builds the threads of the caches: those of the settings, and those that applications use, where this is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...clickhouse.engine import Engine
from ...config.settings import Settings
from ...health.counters import Health
from ...query.other_side import Observed
from ..address import Address, parse
from ..look import Look
from ..watched import Watched
from ..writer import Writer
from . import memcached, redis
from .discovery import Discovery
from .slow_commands import SlowCommands
from .status import CacheStatus, Ping

_LAST_START = """
SELECT max(toFloat64(at) - uptime_s) AS start_s FROM cache_status WHERE server = {server:String} HAVING count() > 0
"""
_SYSTEMS = {"rediss": "redis"}
AnyCache = Watched[memcached.Connection] | Watched[redis.Connection]


def caches(settings: Settings, engine: Engine, writer: Writer, health: Health) -> Iterator[AnyCache | Discovery]:
    """
    Those of `memcached` and `redis`, and what finds others with `discover_caches`.

    Raises:
        SettingsRefused: An address is wrong.
    """
    where = settings.where("memcached", "--memcached")
    named = [parse(text, where, "memcached", memcached.OPTIONS) for text in settings.memcached]
    where, password = settings.where("redis", "--redis"), settings.secret("redis_password")
    named += [parse(text, where, "redis", redis.OPTIONS, password) for text in settings.redis]
    watch = {
        "memcached": partial(_memcached, engine=engine, writer=writer, health=health),
        "redis": partial(_redis, engine=engine, writer=writer, health=health),
    }
    known = [Observed(each.name, _SYSTEMS.get(each.scheme, each.scheme)) for each in named]
    for address, of in zip(named, known, strict=True):
        yield watch[of.system](address)
    if settings.discover_caches:
        yield Discovery(engine, health, known, watch)


def _memcached(address: Address, *, engine: Engine, writer: Writer, health: Health) -> AnyCache:
    """The thread of a memcached."""
    pings = Ping(address.name, writer, memcached.ping)
    status = CacheStatus(address.name, writer, memcached.read, pings, partial(last_start_s, engine, address.name))
    return Watched(address.name, partial(memcached.connect, address), [status, pings], health, memcached.explain)


def _redis(address: Address, *, engine: Engine, writer: Writer, health: Health) -> AnyCache:
    """The thread of a Redis or Valkey."""
    pings = Ping(address.name, writer, redis.ping)
    status = CacheStatus(address.name, writer, redis.read, pings, partial(last_start_s, engine, address.name))
    looks: list[Look[redis.Connection]] = [status, pings, SlowCommands(address.name, writer)]
    return Watched(address.name, partial(redis.connect, address), looks, health, partial(redis.explain, address))


def last_start_s(engine: Engine, server: str) -> float | None:
    """
    When the server had started that the last stored row is of, Unix seconds; None without one.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows = engine.query(_LAST_START, {"server": server})
    return float(rows[0]["start_s"]) if rows else None
