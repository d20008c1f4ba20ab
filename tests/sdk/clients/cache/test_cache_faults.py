"""A failure in what wraps pymemcache and redis-py: the application gets what it always gets, the failure is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import redis
import redis.asyncio
import walltime
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from shop.services import LOOPBACK, Memcached
from walltime import errors
from walltime.clients.cache import pymemcache, pymemcache_hash, redis_calls, redis_servers
from walltime.clients.cache import redis as redis_client
from walltime.core.transaction import Transaction
from walltime.instrumentation import timed

from tests.ports import refusing_port
from tests.redis_server import RedisServer
from tests.sdk.sink import Sink

AsyncRedis: Any = redis.asyncio.Redis
Redis: Any = redis.Redis

MEMCACHE = [
    (pymemcache, "first_of"),
    (pymemcache, "_key_in"),
    (pymemcache, "class_name"),
    (pymemcache, "_known"),
    (pymemcache, "_server_of_pool"),
    (pymemcache_hash, "first_of"),
    (pymemcache_hash, "_skip"),
    (pymemcache_hash, "current"),
    (timed, "lines"),
]
REDIS = [
    (Transaction, "record"),
    (redis_calls, "command_of"),
    (redis_calls, "key_of"),
    (redis_calls, "class_name"),
    (redis_client, "_CONNECT"),
    (redis_client, "Batch"),
    (redis_client, "Answered"),
    (redis_client, "server"),
    (redis_client, "peer"),
    (redis_servers, "server_of_pool"),
]


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:  # noqa: BLE001  # whatever it is
        return type(error), error.args


def use_memcached(server: tuple[str, int], dead: tuple[str, int]) -> list[Any]:
    outcomes = []
    lost = HashClient([dead], ignore_exc=True, retry_attempts=0, connect_timeout=0.5)
    failing = HashClient([dead], ignore_exc=True, retry_timeout=60, connect_timeout=0.5)
    for client in (Client(server), PooledClient(server, max_pool_size=1), HashClient([server]), lost, failing):
        client.set("k", 1, noreply=False)
        outcomes += [
            outcome(lambda: client.get("k", "a default")),  # noqa: B023  # called at once
            outcome(lambda: client.get_many(["k", "absent"])),  # noqa: B023
            outcome(lambda: client.set_many({"k": 1}, noreply=False)),  # noqa: B023
            outcome(lambda: client.delete("k", noreply=False)),  # noqa: B023
            outcome(lambda: client.incr("k", 1)),  # noqa: B023
            outcome(lambda: client.get("an illegal key")),  # noqa: B023
        ]
        client.close()
    full = PooledClient(server, max_pool_size=1)
    with full.client_pool.get_and_release():
        outcomes.append(outcome(lambda: full.get("k")))
    full.close()
    return outcomes


async def use_redis_async(port: int) -> list[Any]:
    async with AsyncRedis(host=LOOPBACK, port=port) as r:
        found = [await r.set("text", "x"), await r.get("text")]
        async with r.pipeline() as pipe:
            found += await pipe.get("text").get("absent").execute()
            with pytest.raises(redis.ResponseError, match="Command # 1"):
                await pipe.lpush("text", 1).execute()
        return found


def use_redis(port: int) -> list[Any]:
    with Redis(host=LOOPBACK, port=port) as r:
        outcomes = [outcome(lambda: r.set("text", "x")), outcome(lambda: r.get("text"))]
        outcomes += [outcome(lambda: r.lpush("text", 1)), outcome(r.execute_command)]
        for transaction in (True, False):
            pipe = r.pipeline(transaction=transaction)
            outcomes.append(outcome(lambda: pipe.get("text").mget("a", "b").execute()))  # noqa: B023
            outcomes.append(outcome(lambda: pipe.lpush("text", 1).execute()))  # noqa: B023
    return [*outcomes, asyncio.run(use_redis_async(port))]


@pytest.fixture
def broken(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], None]:
    """Makes a function of ours raise from now on."""
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0)

    def never(*_arguments: Any, **_named: Any) -> Any:
        raise RuntimeError("injected")

    return lambda module, name: monkeypatch.setattr(module, name, never)


def names(functions: list[tuple[Any, str]]) -> list[str]:
    return [f"{module.__name__.rpartition('.')[2]}.{name}" for module, name in functions]


@pytest.mark.parametrize(("module", "name"), MEMCACHE, ids=names(MEMCACHE))
def test_pymemcache_gives_what_it_always_gives(
    broken: Callable[[Any, str], None], memcached: tuple[Memcached, Memcached], module: Any, name: str
) -> None:
    server, dead = (LOOPBACK, memcached[0].port), (LOOPBACK, refusing_port())
    expected = use_memcached(server, dead)
    broken(module, name)
    walltime.instrument("pymemcache")
    with walltime.transaction("job"):
        assert use_memcached(server, dead) == expected
    assert errors.contained


@pytest.mark.parametrize(("module", "name"), REDIS, ids=names(REDIS))
def test_redis_gives_what_it_always_gives(
    broken: Callable[[Any, str], None], redis_server: RedisServer, module: Any, name: str
) -> None:
    expected = use_redis(redis_server.port)
    walltime.instrument("redis")
    broken(module, name)
    with walltime.transaction("job"):
        assert use_redis(redis_server.port) == expected
    assert errors.contained
