"""redis.asyncio against a real server: the same bill as its blocking twin's, also when calls run side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis
import redis.asyncio
import walltime
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from shop.services import LOOPBACK

from tests.ports import refusing_port
from tests.redis_server import RedisServer
from tests.sdk.clients.cache.redis_counts import Counted, commands, lookups
from tests.sdk.sink import Sink

AsyncRedis: Any = redis.asyncio.Redis
AsyncBlockingConnectionPool: Any = redis.asyncio.BlockingConnectionPool


@asynccontextmanager
async def connected(server: RedisServer, **arguments: Any) -> AsyncIterator[Any]:
    """A client of an empty server."""
    client = AsyncRedis(**{"host": LOOPBACK, "port": server.port, **arguments})
    try:
        await client.flushall()
        yield client
    finally:
        await client.aclose()


def test_commands_are_counted_as_the_server_counts_them(recorded: Sink, redis_server: RedisServer) -> None:
    async def main() -> Counted:
        async with connected(redis_server) as r:
            await r.set("a", b"")
            server = Counted(redis_server)
            with walltime.transaction("job"):
                assert await r.get("a") == b""
                assert await r.get("absent") is None
                assert await r.mget("a", "absent", "a") == [b"", None, b""]
                assert await r.set("a", 1, nx=True) is None
                assert await r.exists("a", "absent") == 1
                assert await r.incr("n") == 1
                with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
                    await r.lpush("a", 1)
            return server

    server = asyncio.run(main())
    bill = recorded.transaction()
    assert commands(bill) == server.calls()
    assert lookups(bill) == server.lookups() == (4, 3)
    assert bill.cell("redis.set") == {"calls": 1, "not_stored": 1}
    assert bill.cell("redis.lpush") == {"calls": 1, "errors": 1}
    assert {address for _, address in bill.targets()} == {f"{LOOPBACK}:{redis_server.port}"}


def test_calls_side_by_side_are_all_on_the_bill_and_covered_once(recorded: Sink, redis_server: RedisServer) -> None:
    async def main() -> None:
        async with connected(redis_server) as r:
            with walltime.transaction("job"):
                await asyncio.gather(*[r.blpop(f"empty:{number}", timeout=0.05) for number in range(8)])

    asyncio.run(main())
    (bill,) = recorded.transactions()
    assert bill.cell("redis.blpop") == {"calls": 8}
    assert bill.attributes["walltime.covered_ns"] <= bill.duration_ns
    assert bill.times_ns()["redis.blpop"] > 2 * bill.attributes["walltime.covered_ns"]


def test_a_connect_inside_a_get_is_billed_once(recorded: Sink, redis_server: RedisServer) -> None:
    async def main() -> None:
        async with connected(redis_server) as r:
            await r.connection_pool.disconnect()
            with walltime.transaction("job"):
                await r.get("a")
                await r.get("a")

    asyncio.run(main())
    bill = recorded.transaction()  # asserts that the exclusive times add up to the covered time
    assert bill.cell("redis.connect") == {"calls": 1}
    assert bill.cell("redis.get") == {"calls": 2, "keys": 2, "misses": 2}


def test_a_dead_server_is_an_error_and_not_a_miss(recorded: Sink) -> None:
    async def main() -> None:
        async with AsyncRedis(host=LOOPBACK, port=refusing_port(), retry=Retry(NoBackoff(), 2)) as r:
            with walltime.transaction("job"), pytest.raises(redis.ConnectionError):
                await r.get("anything")

    asyncio.run(main())
    bill = recorded.transaction()
    assert bill.cell("redis.get") == {"calls": 1, "keys": 1, "errors": 1}
    assert bill.cell("redis.connect") == {"calls": 3, "errors": 3}


def test_a_call_that_is_given_up_is_an_error(recorded: Sink, redis_server: RedisServer) -> None:
    async def main() -> None:
        async with connected(redis_server) as r:
            with walltime.transaction("job"), pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(r.blpop("empty", timeout=5), 0.03)

    asyncio.run(main())
    (bill,) = recorded.transactions()
    assert bill.cell("redis.blpop") == {"calls": 1, "errors": 1}
    assert recorded.calls("redis.blpop")[0].attributes["error.type"] == "CancelledError"


@pytest.mark.parametrize("transaction", [True, False])
def test_a_pipeline_is_one_call_and_its_commands_are_counted(
    recorded: Sink, redis_server: RedisServer, transaction: bool
) -> None:
    async def main() -> Counted:
        async with connected(redis_server) as r:
            await r.set("a", 1)
            server = Counted(redis_server)
            with walltime.transaction("job"):
                async with r.pipeline(transaction=transaction) as pipe:
                    assert await pipe.get("a").get("b").mget("a", "z").execute() == [b"1", None, [b"1", None]]
                    assert await pipe.execute() == []
                    pipe.get("a").lpush("a", 1)
                    with pytest.raises(redis.ResponseError, match="Command # 2"):
                        await pipe.execute()
                    pipe.get("a").lpush("a", 1)
                    await pipe.execute(raise_on_error=False)
            return server

    server = asyncio.run(main())
    bill = recorded.transaction()
    component = "redis.transaction" if transaction else "redis.pipeline"
    assert bill.cell(component) == {"calls": 3, "errors": 1}
    assert commands(bill) == server.calls() == {"get": 4, "mget": 1, "lpush": 2}
    assert bill.cell("redis.get") == {"calls": 4, "keys": 4, "hits": 3, "misses": 1}
    assert bill.cell("redis.lpush") == {"calls": 2, "errors": 2}


def test_a_lost_race_is_an_error_of_the_transaction(recorded: Sink, redis_server: RedisServer) -> None:
    async def main() -> Counted:
        async with connected(redis_server) as r, AsyncRedis(host=LOOPBACK, port=redis_server.port) as rival:
            server = Counted(redis_server)
            with walltime.transaction("job"):
                async with r.pipeline() as pipe:
                    await pipe.watch("stock")
                    assert await pipe.get("stock") is None
                    await rival.set("stock", 7)
                    pipe.multi()
                    pipe.decr("stock")
                    with pytest.raises(redis.WatchError):
                        await pipe.execute()
            return server

    server = asyncio.run(main())
    bill = recorded.transaction()
    assert bill.cell("redis.transaction") == {"calls": 1, "errors": 1}
    assert commands(bill) == server.calls() == {"watch": 1, "get": 1, "set": 1}


def test_waiting_for_a_connection_of_a_pool_has_its_line(recorded: Sink, redis_server: RedisServer) -> None:
    async def main() -> None:
        pool = AsyncBlockingConnectionPool(host=LOOPBACK, port=redis_server.port, max_connections=1, timeout=5)
        taken = await pool.get_connection()
        asyncio.get_running_loop().call_later(0.05, lambda: tasks.append(asyncio.ensure_future(pool.release(taken))))
        tasks: list[asyncio.Future[None]] = []
        r = AsyncRedis(connection_pool=pool)
        with walltime.transaction("job"):
            await r.get("absent")
        await pool.disconnect()

    asyncio.run(main())
    bill = recorded.transaction()
    assert bill.cell("redis.pool") == {"calls": 1}
    assert bill.times_ns()["redis.pool"] >= 20_000_000 > bill.times_ns()["redis.get"]


def test_waiting_for_news_has_its_line(recorded: Sink, redis_server: RedisServer) -> None:
    async def main() -> None:
        async with connected(redis_server) as r:
            with walltime.transaction("job"):
                async with r.pubsub() as channel:
                    await channel.subscribe("news")
                    assert (await channel.get_message(timeout=1))["type"] == "subscribe"
                    await r.publish("news", "hello")
                    assert (await channel.get_message(timeout=1))["data"] == b"hello"

    asyncio.run(main())
    bill = recorded.transaction()
    assert bill.cell("redis.subscribe") == bill.cell("redis.publish") == {"calls": 1}
    assert bill.cell("redis.listen") == {"calls": 2}
