"""redis-py's pipelines, pools and subscriptions against a real server."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import redis
import walltime
from shop.services import LOOPBACK
from walltime.core import transaction as transaction_module

from tests.redis_server import RedisServer
from tests.sdk.clients.cache.redis_counts import Connect, Counted, Redis, commands, lookups
from tests.sdk.sink import Sink

BlockingConnectionPool: Any = redis.BlockingConnectionPool


# ---- pipelines ----


@pytest.mark.parametrize(("transaction", "component"), [(True, "redis.transaction"), (False, "redis.pipeline")])
def test_a_pipeline_is_one_call_and_its_commands_are_counted(
    recorded: Sink, redis_server: RedisServer, redis_client: Connect, transaction: bool, component: str
) -> None:
    r = redis_client()
    r.set("a", 1)
    server = Counted(redis_server)
    with walltime.transaction("job"), r.pipeline(transaction=transaction) as pipe:
        for key in ("a", "b", "a"):
            pipe.get(key)
        pipe.mget("a", "z").set("n", 1, nx=True).set("n", 1, nx=True).incr("n")
        assert pipe.execute() == [b"1", None, b"1", [b"1", None], True, None, 2]
    bill = recorded.transaction()
    assert bill.cell(component) == {"calls": 1}
    assert bill.cell("redis.get") == {"calls": 3, "keys": 3, "hits": 2, "misses": 1}
    assert bill.cell("redis.mget") == {"calls": 1, "keys": 2, "hits": 1, "misses": 1}
    assert bill.cell("redis.set") == {"calls": 2, "not_stored": 1}
    assert commands(bill) == server.calls()
    assert lookups(bill) == (3, 2)
    times_ns = bill.times_ns()
    assert times_ns[component] > 0 == times_ns["redis.get"] == times_ns["redis.incrby"]


@pytest.mark.parametrize("transaction", [True, False])
@pytest.mark.parametrize("raise_on_error", [True, False])
def test_a_command_that_fails_in_a_pipeline_is_an_error_of_that_command(
    recorded: Sink, redis_server: RedisServer, redis_client: Connect, transaction: bool, raise_on_error: bool
) -> None:
    r = redis_client()
    r.set("text", "x")
    server = Counted(redis_server)
    with walltime.transaction("job"), r.pipeline(transaction=transaction) as pipe:
        pipe.get("text").lpush("text", 1).get("absent")
        if raise_on_error:
            with pytest.raises(redis.ResponseError, match="Command # 2"):
                pipe.execute()
        else:
            value, error, nothing = pipe.execute(raise_on_error=False)
            assert (value, nothing) == (b"x", None)
            assert isinstance(error, redis.ResponseError)
    bill = recorded.transaction()
    assert commands(bill) == server.calls() == {"get": 2, "lpush": 1}
    assert bill.cell("redis.get") == {"calls": 2, "keys": 2, "hits": 1, "misses": 1}
    assert bill.cell("redis.lpush") == {"calls": 1, "errors": 1}
    whole = bill.cell("redis.transaction" if transaction else "redis.pipeline")
    assert whole == {"calls": 1, "errors": 1} if raise_on_error else {"calls": 1}


def test_a_lost_race_is_an_error_of_the_transaction_and_no_call_of_its_commands(
    recorded: Sink, redis_server: RedisServer, redis_client: Connect
) -> None:
    r, rival = redis_client(), redis_client()
    server = Counted(redis_server)
    with walltime.transaction("job"), r.pipeline() as pipe:
        pipe.watch("stock")
        assert pipe.get("stock") is None
        rival.set("stock", 7)
        pipe.multi()
        pipe.decr("stock")
        with pytest.raises(redis.WatchError):
            pipe.execute()
    bill = recorded.transaction()
    assert bill.cell("redis.transaction") == {"calls": 1, "errors": 1}
    assert commands(bill) == server.calls() == {"watch": 1, "get": 1, "set": 1}


def test_a_transaction_that_the_server_refuses_has_executed_nothing(
    recorded: Sink, redis_server: RedisServer, redis_client: Connect
) -> None:
    r = redis_client()
    server = Counted(redis_server)
    with walltime.transaction("job"), r.pipeline() as pipe:
        pipe.set("a", 1)
        pipe.execute_command("NO-SUCH-COMMAND")
        with pytest.raises(redis.ResponseError):
            pipe.execute()
    bill = recorded.transaction()
    assert bill.cell("redis.transaction") == {"calls": 1, "errors": 1}
    assert commands(bill) == server.calls() == {}


def test_an_empty_pipeline_is_no_call(recorded: Sink, redis_client: Connect) -> None:
    r = redis_client()
    with walltime.transaction("job"):
        assert r.pipeline().execute() == []
    assert recorded.transaction().times_ns() == {}


def test_a_pipeline_longer_than_the_detail_is_counted_whole(recorded: Sink, redis_client: Connect) -> None:
    r = redis_client()
    with walltime.transaction("job"), r.pipeline(transaction=False) as pipe:
        for number in range(5000):
            pipe.get(f"k:{number}")
        assert pipe.execute() == [None] * 5000
    bill = recorded.transaction()
    assert bill.cell("redis.get") == {"calls": 5000, "keys": 5000, "misses": 5000}
    assert len(recorded.calls()) <= 2 * transaction_module.MAX_CALLS


# ---- pools, subscriptions ----


def test_waiting_for_a_connection_of_a_pool_has_its_line(
    recorded: Sink, redis_server: RedisServer, redis_client: Connect
) -> None:
    pool = BlockingConnectionPool(host=LOOPBACK, port=redis_server.port, max_connections=1, timeout=5)
    taken = pool.get_connection()
    timer = threading.Timer(0.05, pool.release, [taken])
    with Redis(connection_pool=pool) as r, walltime.transaction("job"):
        timer.start()
        r.get("absent")
    timer.join()
    pool.disconnect()
    bill = recorded.transaction()
    assert bill.cell("redis.pool") == {"calls": 1}
    assert bill.times_ns()["redis.pool"] >= 20_000_000 > bill.times_ns()["redis.get"]
    assert ("redis.pool", f"{LOOPBACK}:{redis_server.port}") in bill.targets()


def test_a_pool_that_stays_empty_is_an_error_of_the_pool_and_of_the_command(
    recorded: Sink, redis_server: RedisServer
) -> None:
    pool = BlockingConnectionPool(host=LOOPBACK, port=redis_server.port, max_connections=1, timeout=0.01)
    taken = pool.get_connection()
    with walltime.transaction("job"), pytest.raises(redis.ConnectionError, match="No connection available"):
        Redis(connection_pool=pool).get("a")
    pool.release(taken)
    pool.disconnect()
    bill = recorded.transaction()
    assert bill.cell("redis.pool") == {"calls": 1, "errors": 1}
    assert bill.cell("redis.get") == {"calls": 1, "keys": 1, "errors": 1}


def test_waiting_for_news_has_its_line(recorded: Sink, redis_client: Connect) -> None:
    r = redis_client()
    with walltime.transaction("job"), r.pubsub() as channel:
        channel.subscribe("news")
        assert channel.get_message(timeout=1)["type"] == "subscribe"
        r.publish("news", "hello")
        assert channel.get_message(timeout=1)["data"] == b"hello"
        assert channel.get_message(timeout=0.02) is None
    bill = recorded.transaction()
    assert bill.cell("redis.subscribe") == {"calls": 1}
    assert bill.cell("redis.listen") == {"calls": 3}
    assert bill.times_ns()["redis.listen"] >= 10_000_000
