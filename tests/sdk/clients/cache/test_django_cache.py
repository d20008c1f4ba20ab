"""Django's caches on memcached and Redis: seen through pymemcache and redis-py, counted as the servers count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import walltime
from django.core.cache import CacheHandler
from shop.services import LOOPBACK, Memcached

from tests.ports import refusing_port
from tests.redis_server import RedisServer
from tests.sdk.clients.cache.redis_counts import Counted
from tests.sdk.sink import Received, Sink

MEMCACHED = "django.core.cache.backends.memcached.PyMemcacheCache"
REDIS = "django.core.cache.backends.redis.RedisCache"
Open = Callable[..., Any]


@pytest.fixture
def cache() -> Iterator[Open]:
    """Opens caches as Django does from its settings; closes them at the end."""
    handlers: list[CacheHandler] = []

    def open_cache(backend: str, location: str | list[str], **options: Any) -> Any:
        settings = {"BACKEND": backend, "LOCATION": location, "OPTIONS": options, "KEY_PREFIX": "shop"}
        handlers.append(CacheHandler({"default": settings}))
        handlers[-1]["default"].clear()
        return handlers[-1]["default"]

    yield open_cache
    for handler in handlers:
        handler["default"].close()


def use(cache: Any) -> None:
    """What an application does with a cache, and what it gets."""
    assert cache.get("absent") is None
    assert cache.get("absent", "a default") == "a default"
    cache.set("nothing", None)
    cache.set("zero", 0)
    assert cache.get("nothing", "a default") is None
    assert cache.get("zero", "a default") == 0
    assert cache.add("zero", 1) is False
    assert cache.add("new", {"any": "thing"}) is True
    assert cache.get_many(["zero", "absent", "new"]) == {"zero": 0, "new": {"any": "thing"}}
    assert cache.set_many({"a": 1, "größe": 2}) == []
    assert cache.get_or_set("größe", lambda: 7) == 2
    assert cache.get_or_set("made", lambda: 7) == 7
    assert cache.incr("a") == 2
    with pytest.raises(ValueError, match="not found"):
        cache.incr("absent")
    assert cache.touch("a", 100) is True
    assert cache.touch("absent", 100) is False
    assert ("a" in cache, "absent" in cache) == (True, False)
    assert cache.delete("a") is True
    assert cache.delete("a") is False
    cache.delete_many(["zero", "absent"])
    cache.clear()


@pytest.mark.parametrize("pooled", [False, True])
def test_memcached_is_seen_with_exact_hits_and_misses(
    recorded: Sink, memcached: tuple[Memcached, Memcached], cache: Open, pooled: bool
) -> None:
    opened = cache(MEMCACHED, [f"{LOOPBACK}:{server.port}" for server in memcached], use_pooling=pooled)
    before = [server.stats() for server in memcached]
    with walltime.transaction("job"):
        use(opened)
    after = [server.stats() for server in memcached]
    bill = recorded.transaction()

    def grown(counter: str) -> int:
        return sum(int(now[counter]) - int(was[counter]) for was, now in zip(before, after, strict=True))

    get, delete, incr, touch = [bill.cell(f"memcache.{name}") for name in ("get", "delete", "incr", "touch")]
    # get_or_set of what is not there asks, adds, asks again.
    assert (get["hits"], get["misses"]) == (7, 5) == (grown("get_hits"), grown("get_misses"))
    assert get["keys"] == grown("cmd_get") == 12
    assert (delete["hits"], delete["misses"]) == (2, 2) == (grown("delete_hits"), grown("delete_misses"))
    assert (incr["hits"], incr["misses"]) == (1, 1) == (grown("incr_hits"), grown("incr_misses"))
    assert (touch["hits"], touch["misses"]) == (1, 1) == (grown("touch_hits"), grown("touch_misses"))
    assert bill.cell("memcache.add") == {"calls": 3, "not_stored": 1}
    assert not [name for name in bill.times_ns() if bill.cell(name).get("errors")]
    for server, was, now in zip(memcached, before, after, strict=True):
        target = bill.targets().get(("memcache.get", f"{LOOPBACK}:{server.port}"), {"hits": 0})  # by chance no key's
        assert target["hits"] == int(now["get_hits"]) - int(was["get_hits"])


def test_redis_is_seen_with_exact_hits_and_misses(recorded: Sink, redis_server: RedisServer, cache: Open) -> None:
    opened = cache(REDIS, f"redis://{LOOPBACK}:{redis_server.port}")
    server = Counted(redis_server)
    with walltime.transaction("job"):
        use(opened)
    bill = recorded.transaction()
    asked = _redis_calls(bill)
    assert asked == {name: count for name, count in server.calls().items() if name in asked}
    assert set(server.calls()) - set(asked) <= {"flushdb"}  # redis.admin
    reads = [bill.cell(f"redis.{name}") for name in ("get", "mget", "exists")]
    assert sum(cell.get("keys", 0) for cell in reads) == sum(c.get("hits", 0) + c.get("misses", 0) for c in reads)
    assert bill.cell("redis.mget") == {"calls": 1, "keys": 3, "hits": 2, "misses": 1}
    assert bill.cell("redis.transaction")["calls"] == 1  # set_many


def _redis_calls(bill: Received) -> dict[str, int]:
    ours = {"connect", "transaction", "pipeline", "pool", "admin"}
    names = [name.removeprefix("redis.") for name in bill.times_ns() if name.startswith("redis.")]
    return {name: bill.cell(f"redis.{name}")["calls"] for name in names if name not in ours}


def test_a_value_that_is_too_large_is_an_error(
    recorded: Sink, memcached: tuple[Memcached, Memcached], cache: Open
) -> None:
    opened = cache(MEMCACHED, f"{LOOPBACK}:{memcached[0].port}")
    with walltime.transaction("job"), pytest.raises(Exception, match="too large"):
        opened.set("large", "x" * (2 << 20))
    assert recorded.transaction().cell("memcache.set") == {"calls": 1, "errors": 1}


def test_a_dead_server_is_an_error_once_and_skipped_then(recorded: Sink, cache: Open) -> None:
    opened = cache(MEMCACHED, f"{LOOPBACK}:{refusing_port()}", ignore_exc=True, retry_timeout=60)
    opened._cache._failed_clients.clear()  # it was cleared when it was opened, which failed
    with walltime.transaction("job"):
        assert [opened.get("k", "a default") for _ in range(5)] == ["a default"] * 5
        assert opened.get_many(["a", "b"]) == {}
    assert recorded.transaction().cell("memcache.get") == {"calls": 1, "keys": 1, "errors": 1, "skipped": 5}


def test_its_asynchronous_methods_are_seen(recorded: Sink, memcached: tuple[Memcached, Memcached], cache: Open) -> None:
    opened = cache(MEMCACHED, f"{LOOPBACK}:{memcached[0].port}")

    async def main() -> None:
        with walltime.transaction("job"):
            await opened.aset("k", 1)
            assert await opened.aget("k") == 1
            assert await opened.aget("absent") is None

    asyncio.run(main())
    (bill,) = recorded.transactions()
    assert bill.cell("memcache.get") == {"calls": 2, "keys": 2, "hits": 1, "misses": 1}


def test_a_key_is_shown_by_the_applications_own_prefix(
    recorded: Sink, memcached: tuple[Memcached, Memcached], cache: Open
) -> None:
    opened = cache(MEMCACHED, f"{LOOPBACK}:{memcached[0].port}")
    with walltime.transaction("job"):
        opened.get("product:42")
    (call,) = recorded.calls("memcache.get")
    prefix, _, number = call.attributes["walltime.memcache.key"].partition("#")
    assert prefix == "shop:1:product:"
    assert "42" not in number or len(number) == 16
