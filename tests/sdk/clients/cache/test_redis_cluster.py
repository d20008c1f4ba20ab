"""redis-py with a cluster of two nodes and with a sentinel: calls on the bill of the server that got them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import redis
import redis.asyncio
import redis.asyncio.cluster
import redis.cluster
import walltime
from redis.backoff import NoBackoff
from redis.retry import Retry
from shop.services import LOOPBACK, ProgramMissingError, fast_folder, free_port

from tests.redis_server import RedisServer, Sentinel
from tests.sdk.clients.cache.redis_counts import Counted
from tests.sdk.sink import Received, Sink
from tests.servers import eventually

Nodes = tuple[RedisServer, RedisServer]
Redis: Any = redis.Redis
RedisCluster: Any = redis.cluster.RedisCluster
AsyncRedisCluster: Any = redis.asyncio.cluster.RedisCluster
Finder: Any = redis.Sentinel
AsyncFinder: Any = redis.asyncio.Sentinel

KEYS = [f"key:{number}" for number in range(20)]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    folder = fast_folder("walltime-sdk-")
    bus = [str(free_port()), str(free_port())]
    made = [RedisServer(folder / port, cluster_enabled="yes", cluster_port=port) for port in bus]
    try:
        for node, slots in zip(made, ((0, 8191), (8192, 16383)), strict=True):
            node.start()
            with Redis(host=LOOPBACK, port=node.port) as r:
                r.execute_command("CLUSTER", "ADDSLOTSRANGE", *slots)
        with Redis(host=LOOPBACK, port=made[0].port) as r:
            r.execute_command("CLUSTER", "MEET", LOOPBACK, made[1].port, bus[1])
        for node in made:
            eventually(partial(_is_complete, node))
    except ProgramMissingError as error:
        pytest.skip(str(error))
    else:
        yield made[0], made[1]
    finally:
        for node in made:
            node.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _is_complete(node: RedisServer) -> bool:
    with Redis(host=LOOPBACK, port=node.port) as r:
        return r.cluster("INFO")["cluster_state"] == "ok" and len(r.cluster("NODES")) == 2


def here_and_there(bill: Received, nodes: Nodes, component: str) -> list[dict[str, int]]:
    return [bill.targets()[component, f"{LOOPBACK}:{node.port}"] for node in nodes]


def node_calls(counted: list[Counted], command: str) -> list[int]:
    return [server.calls()[command] for server in counted]


def test_commands_are_billed_at_the_node_that_got_them(recorded: Sink, nodes: Nodes) -> None:
    with RedisCluster(host=LOOPBACK, port=nodes[0].port) as r:
        r.flushall()
        counted = [Counted(node) for node in nodes]
        with walltime.transaction("job"):
            for key in KEYS[:10]:
                assert r.set(key, 1) is True
            for key in KEYS:
                r.get(key)
            assert r.exists(*KEYS) == 10
            assert r.mget_nonatomic(*KEYS) == [b"1"] * 10 + [None] * 10
            with pytest.raises(redis.ResponseError):
                r.lpush(KEYS[0], 1)
        bill = recorded.transaction()
        gets = here_and_there(bill, nodes, "redis.get")
        assert [target["calls"] for target in gets] == node_calls(counted, "get")
        assert sum(target["hits"] for target in gets) == 10 == sum(target["misses"] for target in gets)
        sets = here_and_there(bill, nodes, "redis.set")
        assert [target["calls"] for target in sets] == node_calls(counted, "set")
        assert bill.cell("redis.exists")["hits"] == 10
        assert bill.cell("redis.mget")["keys"] == 20
        assert bill.cell("redis.lpush") == {"calls": 1, "errors": 1}


def test_a_pipeline_is_a_call_at_each_node(recorded: Sink, nodes: Nodes) -> None:
    with RedisCluster(host=LOOPBACK, port=nodes[0].port) as r:
        r.flushall()
        r.set(KEYS[0], "text")
        counted = [Counted(node) for node in nodes]
        with walltime.transaction("job"):
            pipe = r.pipeline()
            for key in KEYS:
                pipe.get(key)
            pipe.lpush(KEYS[0], 1)
            answers = pipe.execute(raise_on_error=False)
            assert answers[0] == b"text"
            assert isinstance(answers[-1], redis.ResponseError)
        bill = recorded.transaction()
        assert bill.cell("redis.pipeline") == {"calls": 2}
        gets = here_and_there(bill, nodes, "redis.get")
        assert [target["calls"] for target in gets] == node_calls(counted, "get")
        assert bill.cell("redis.get") == {"calls": 20, "keys": 20, "hits": 1, "misses": 19}
        assert bill.cell("redis.lpush") == {"calls": 1, "errors": 1}


def test_a_transaction_is_a_call_at_its_node(recorded: Sink, nodes: Nodes) -> None:
    with RedisCluster(host=LOOPBACK, port=nodes[0].port) as r:
        r.flushall()
        with walltime.transaction("job"):
            pipe = r.pipeline(transaction=True)
            pipe.set("{cart}:1", 1)
            pipe.get("{cart}:1")
            pipe.get("{cart}:2")
            assert pipe.execute() == [b"OK", b"1", None]
        bill = recorded.transaction()
        assert bill.cell("redis.transaction") == {"calls": 1}
        assert bill.cell("redis.set") == {"calls": 1}
        assert bill.cell("redis.get") == {"calls": 2, "keys": 2, "hits": 1, "misses": 1}
        owner = r.get_node_from_key("{cart}:1")
        assert ("redis.transaction", f"{LOOPBACK}:{owner.port}") in bill.targets()


def test_asyncio_bills_commands_pipelines_and_transactions_at_their_nodes(recorded: Sink, nodes: Nodes) -> None:
    async def main() -> list[Counted]:
        async with AsyncRedisCluster(host=LOOPBACK, port=nodes[0].port) as r:
            await r.flushall()
            counted = [Counted(node) for node in nodes]
            with walltime.transaction("job"):
                await asyncio.gather(*[r.set(key, 1) for key in KEYS[:10]])
                pipe = r.pipeline()
                for key in KEYS:
                    pipe.get(key)
                assert await pipe.execute() == [b"1"] * 10 + [None] * 10
                pipe = r.pipeline(transaction=True)
                pipe.get("{cart}:1")
                assert await pipe.execute() == [None]
            return counted

    counted = asyncio.run(main())
    (bill,) = recorded.transactions()
    assert [target["calls"] for target in here_and_there(bill, nodes, "redis.set")] == node_calls(counted, "set")
    gets = here_and_there(bill, nodes, "redis.get")
    assert [target["calls"] for target in gets] == node_calls(counted, "get")
    assert bill.cell("redis.get") == {"calls": 21, "keys": 21, "hits": 10, "misses": 11}
    assert bill.cell("redis.pipeline") == {"calls": 2}
    assert bill.cell("redis.transaction") == {"calls": 1}
    assert bill.attributes["walltime.covered_ns"] <= bill.duration_ns


@pytest.fixture
def sentinel(redis_server: RedisServer) -> Iterator[Sentinel]:
    folder = fast_folder("walltime-sdk-")
    with Sentinel(folder, redis_server) as running:
        yield running
    shutil.rmtree(folder, ignore_errors=True)


def test_a_sentinels_clients_are_billed_at_the_server_they_were_sent_to(
    recorded: Sink, redis_server: RedisServer, sentinel: Sentinel
) -> None:
    finder = Finder([(LOOPBACK, sentinel.port)])
    master, replica = finder.master_for("shop"), finder.slave_for("shop")
    with walltime.transaction("job"):
        master.set("k", 1)
        assert master.get("k") == b"1"
        assert replica.get("k") == b"1"  # there is none: the master
        assert master.pipeline().get("k").execute() == [b"1"]
    for client in (master, replica, *finder.sentinels):
        client.close()
    bill = recorded.transaction()
    server, watcher = f"{LOOPBACK}:{redis_server.port}", f"{LOOPBACK}:{sentinel.port}"
    targets = bill.targets()
    assert targets["redis.get", server] == {"calls": 3, "errors": 0, "hits": 3, "misses": 0}
    assert targets["redis.connect", server]["calls"] == 2
    assert targets["redis.admin", watcher]["calls"] == 3
    assert {address for component, address in targets if component != "redis.admin"} == {server, watcher}


def test_asyncio_with_a_sentinel_is_billed_at_the_server(
    recorded: Sink, redis_server: RedisServer, sentinel: Sentinel
) -> None:
    async def main() -> None:
        finder = AsyncFinder([(LOOPBACK, sentinel.port)])
        master = finder.master_for("shop")
        with walltime.transaction("job"):
            await master.set("k", 1)
            await master.get("k")
        for client in (master, *finder.sentinels):
            await client.aclose()

    asyncio.run(main())
    targets = recorded.transaction().targets()
    assert targets["redis.get", f"{LOOPBACK}:{redis_server.port}"]["hits"] == 1


def test_a_sentinel_that_knows_of_no_server_is_an_error_without_one(recorded: Sink, sentinel: Sentinel) -> None:
    finder = Finder([(LOOPBACK, sentinel.port)])
    unknown = finder.master_for("nobody", retry=Retry(NoBackoff(), 0))
    with walltime.transaction("job"), pytest.raises(redis.sentinel.MasterNotFoundError):
        unknown.get("k")
    for client in (unknown, *finder.sentinels):
        client.close()
    bill = recorded.transaction()
    assert bill.cell("redis.get") == {"calls": 1, "keys": 1, "errors": 1}
    assert "redis.get" not in {component for component, _ in bill.targets()}
