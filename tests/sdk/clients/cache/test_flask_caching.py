"""
Flask-Caching on memcached through pymemcache, and on Redis.

By itself it looks for pylibmc, python-memcached or libmc, which are not wrapped; a client of pymemcache is given to it
as CACHE_MEMCACHED_SERVERS. One that waits for replies, and pickles: it takes what `append` and `delete` return for
whether a key is there, and stores Python's objects.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import walltime
from flask import Flask
from flask_caching import Cache
from pymemcache import serde
from pymemcache.client.base import PooledClient
from pymemcache.client.hash import HashClient
from shop.services import LOOPBACK, Memcached

from tests.redis_server import RedisServer
from tests.sdk.clients.cache.redis_counts import Counted, commands, lookups
from tests.sdk.sink import Sink

Made = tuple[Flask, Cache]
GIVEN: dict[str, Any] = {"default_noreply": False, "serde": serde.pickle_serde}


def application(**config: Any) -> Made:
    app = Flask("shop")
    cache = Cache(app, config=config)

    @app.get("/product/<int:number>")
    @cache.cached(timeout=60)
    def product(number: int) -> str:
        return f"product {number}"

    @app.get("/total")
    def total() -> str:
        return str(add(1, 2))

    @cache.memoize(60)
    def add(a: int, b: int) -> int:
        return a + b

    return app, cache


@pytest.fixture(params=["HashClient", "PooledClient"])
def on_memcached(request: pytest.FixtureRequest, memcached: tuple[Memcached, Memcached]) -> Iterator[Made]:
    servers = [(LOOPBACK, server.port) for server in memcached]
    made: dict[str, Callable[[], Any]] = {
        "HashClient": lambda: HashClient(servers, use_pooling=True, **GIVEN),
        "PooledClient": lambda: PooledClient(servers[0], **GIVEN),
    }
    client = made[request.param]()
    client.flush_all()
    yield application(CACHE_TYPE="MemcachedCache", CACHE_MEMCACHED_SERVERS=client, CACHE_KEY_PREFIX="shop:")
    client.close()


def stats(servers: tuple[Memcached, Memcached], counter: str) -> int:
    return sum(int(server.stats()[counter]) for server in servers)


def test_a_cached_view_misses_once_and_hits_then(
    recorded: Sink, on_memcached: Made, memcached: tuple[Memcached, Memcached]
) -> None:
    app, _ = on_memcached
    before = stats(memcached, "get_hits"), stats(memcached, "get_misses"), stats(memcached, "cmd_set")
    browser = app.test_client()
    assert [browser.get("/product/7").text for _ in range(3)] == ["product 7"] * 3
    bills = recorded.transactions()
    assert [bill.span.name for bill in bills] == ["GET /product/{number}"] * 3
    hits = [(bill.cell("memcache.get").get("hits", 0), bill.cell("memcache.get").get("misses", 0)) for bill in bills]
    assert hits == [(0, 1), (1, 0), (1, 0)]
    assert [bill.cell("memcache.set").get("calls", 0) for bill in bills] == [1, 0, 0]
    after = stats(memcached, "get_hits"), stats(memcached, "get_misses"), stats(memcached, "cmd_set")
    assert [now - was for was, now in zip(before, after, strict=True)] == [2, 1, 1]


def test_a_memoized_function_is_counted_as_the_server_counts_it(
    recorded: Sink, on_memcached: Made, memcached: tuple[Memcached, Memcached]
) -> None:
    app, _ = on_memcached
    before = stats(memcached, "get_hits"), stats(memcached, "get_misses")
    browser = app.test_client()
    assert [browser.get("/total").text for _ in range(3)] == ["3"] * 3
    gets = [bill.cell("memcache.get") for bill in recorded.transactions()]
    assert (sum(cell.get("hits", 0) for cell in gets), sum(cell.get("misses", 0) for cell in gets)) == (
        stats(memcached, "get_hits") - before[0],
        stats(memcached, "get_misses") - before[1],
    )
    assert sum(cell["keys"] for cell in gets) == sum(cell.get("hits", 0) + cell.get("misses", 0) for cell in gets)


def test_its_methods_are_seen_with_exact_hits_and_misses(recorded: Sink, on_memcached: Made) -> None:
    app, cache = on_memcached
    with app.app_context(), walltime.transaction("job"):
        assert cache.set("zero", 0) is True
        assert cache.get("zero") == 0
        assert cache.get("absent") is None
        assert cache.add("zero", 1) is False
        cache.set_many({"a": 1, "b": None})
        assert cache.get_many("a", "b", "absent") == [1, None, None]
        assert cache.get_dict("a", "absent") == {"a": 1, "absent": None}
        assert cache.has("a") is True
        assert cache.has("absent") is False
        assert cache.delete("a") is True
        assert cache.delete("a") is False
    bill = recorded.transaction()
    get = bill.cell("memcache.get")
    assert (get["keys"], get["hits"], get["misses"]) == (7, 4, 3)
    assert bill.cell("memcache.add") == {"calls": 1, "not_stored": 1}
    assert bill.cell("memcache.append") == {"calls": 2, "not_stored": 1}  # how it asks whether a key is there
    assert bill.cell("memcache.delete") == {"calls": 2, "keys": 2, "hits": 1, "misses": 1}


def test_of_the_libraries_it_finds_by_itself_none_is_installed_here() -> None:
    if any(importlib.util.find_spec(name) for name in ("pylibmc", "memcache", "libmc")):
        pytest.skip("one of them is installed")
    with pytest.raises(RuntimeError, match="no memcache module found"):
        application(CACHE_TYPE="MemcachedCache", CACHE_MEMCACHED_SERVERS=["127.0.0.1:11211"])


def test_redis_is_seen_with_exact_hits_and_misses(recorded: Sink, redis_server: RedisServer) -> None:
    url = f"redis://{LOOPBACK}:{redis_server.port}/0"
    app, cache = application(CACHE_TYPE="RedisCache", CACHE_REDIS_URL=url, CACHE_KEY_PREFIX="shop:")
    with app.app_context():
        cache.clear()
        server = Counted(redis_server)
        with walltime.transaction("job"):
            cache.set("zero", 0)
            assert cache.get("zero") == 0
            assert cache.get("absent") is None
            assert cache.get_many("zero", "absent") == [0, None]
            assert cache.set_many({"a": 1, "b": 2}) == ["a", "b"]
            assert cache.has("a")
            assert cache.delete("a") is True
            assert cache.delete("a") is False
    bill = recorded.transaction()
    assert commands(bill) == server.calls()
    assert bill.cell("redis.get") == {"calls": 2, "keys": 2, "hits": 1, "misses": 1}
    assert bill.cell("redis.mget") == {"calls": 1, "keys": 2, "hits": 1, "misses": 1}
    assert bill.cell("redis.del") == {"calls": 2, "keys": 2, "hits": 1, "misses": 1}
    reads = [bill.cell(f"redis.{name}") for name in ("get", "mget", "exists")]
    assert (sum(c.get("hits", 0) for c in reads), sum(c.get("misses", 0) for c in reads)) == server.lookups()
    assert lookups(bill)[0] == server.lookups()[0] + 1  # and the one that was deleted
    backend: Any = cache.cache
    for client in (backend._write_client, backend._read_client):
        client.close()
