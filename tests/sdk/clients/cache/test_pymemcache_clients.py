"""What is built on pymemcache's client, its pools, its failures, and which of its keys leave the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import walltime
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from pymemcache.client.retrying import RetryingClient
from pymemcache.exceptions import MemcacheServerError
from shop.services import LOOPBACK, Memcached
from walltime.clients.cache.pymemcache import patches
from walltime.errors import PatchError

from tests.ports import refusing_port
from tests.sdk.sink import Sink

Servers = tuple[Memcached, Memcached]


def test_each_attempt_of_a_retrying_client_is_a_call(recorded: Sink) -> None:
    client = RetryingClient(Client((LOOPBACK, refusing_port()), connect_timeout=0.5), attempts=3)
    with walltime.transaction("job"), pytest.raises(ConnectionRefusedError):
        client.get("k")
    assert recorded.transaction().cell("memcache.get") == {"calls": 3, "keys": 3, "errors": 3}


def test_waiting_for_a_client_of_a_pool_has_its_line(recorded: Sink, memcache_server: tuple[str, int]) -> None:
    lock = threading.Lock()
    client = PooledClient(memcache_server, lock_generator=lambda: lock)
    client.get("connect")
    timer = threading.Timer(0.05, lock.release)
    with walltime.transaction("job"):
        lock.acquire()
        timer.start()
        client.get("k")
    timer.join()
    client.close()
    bill = recorded.transaction()
    assert bill.cell("memcache.pool") == {"calls": 1}
    assert bill.times_ns()["memcache.pool"] >= 20_000_000
    assert ("memcache.pool", f"{memcache_server[0]}:{memcache_server[1]}") in bill.targets()


def test_a_pool_without_a_free_client_is_an_error_of_the_pool(recorded: Sink, memcache_server: tuple[str, int]) -> None:
    client = PooledClient(memcache_server, max_pool_size=1)
    taken = client.client_pool.get_and_release()
    with taken, walltime.transaction("job"), pytest.raises(RuntimeError, match="Too many objects"):
        client.get("k")
    client.close()
    assert recorded.transaction().cell("memcache.pool") == {"calls": 1, "errors": 1}


def test_a_library_that_takes_more_than_we_know_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def later(self: Any, name: bytes, keys: Any, expect_cas: bool, compress: bool = False) -> None: ...

    monkeypatch.setattr(Client, "_fetch_cmd", later)
    with pytest.raises(PatchError, match="_fetch_cmd takes compress"):
        patches()


def test_a_dead_server_reaches_the_caller_unchanged(recorded: Sink) -> None:
    client = Client((LOOPBACK, refusing_port()), connect_timeout=0.5)
    with walltime.transaction("job"), pytest.raises(ConnectionRefusedError):
        client.get("anything")
    assert recorded.transaction().cell("memcache.get") == {"calls": 1, "keys": 1, "errors": 1}


def test_a_refused_store_is_an_error(recorded: Sink, memcache_server: tuple[str, int]) -> None:
    client = Client(memcache_server)
    with walltime.transaction("job"), pytest.raises(MemcacheServerError):
        client.set("large", b"x" * (2 << 20), noreply=False)
    client.close()
    assert recorded.transaction().cell("memcache.set") == {"calls": 1, "errors": 1}


def test_a_connect_inside_a_get_is_billed_once(recorded: Sink, memcache_server: tuple[str, int]) -> None:
    client = Client(memcache_server)
    with walltime.transaction("job"):
        client.get("a")
    client.close()
    bill = recorded.transaction()  # asserts that the exclusive times add up to the covered time
    (get,) = recorded.calls("memcache.get")
    (connect,) = recorded.calls("memcache.connect")
    assert get.duration_ns == bill.times_ns()["memcache.get"] + bill.times_ns()["memcache.connect"]
    assert get.span.start_time_unix_nano <= connect.span.start_time_unix_nano


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda servers: PooledClient(servers[0], max_pool_size=2), id="PooledClient"),
        pytest.param(HashClient, id="HashClient"),
        pytest.param(lambda servers: HashClient(servers, use_pooling=True, max_pool_size=2), id="HashClient, pooled"),
        pytest.param(lambda servers: RetryingClient(Client(servers[0]), attempts=2), id="RetryingClient"),
    ],
)
def test_the_clients_built_on_client_are_seen_through_it(
    recorded: Sink, memcached: Servers, wrap: Callable[[list[tuple[str, int]]], Any]
) -> None:
    client = wrap([(LOOPBACK, memcache_server.port) for memcache_server in memcached])
    before = [memcache_server.stats() for memcache_server in memcached]
    with walltime.transaction("job"):
        for n in range(20):
            client.set(f"k{n}", n, noreply=False)
        for n in range(30):
            client.get(f"k{n}")
    client.close()
    after = [memcache_server.stats() for memcache_server in memcached]
    bill = recorded.transaction()
    assert bill.cell("memcache.get") == {"calls": 30, "keys": 30, "hits": 20, "misses": 10}
    targets = bill.targets()
    for memcache_server, was, now in zip(memcached, before, after, strict=True):
        target = targets.get(("memcache.get", f"{LOOPBACK}:{memcache_server.port}"), {"hits": 0, "misses": 0})
        assert target["hits"] == int(now["get_hits"]) - int(was["get_hits"])
        assert target["misses"] == int(now["get_misses"]) - int(was["get_misses"])


def test_keys_leave_the_process_as_prefix_and_keyed_hash(sink: Sink, memcache_server: tuple[str, int]) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, key_salt="a deployment's own")
    walltime.instrument("pymemcache")
    client = Client(memcache_server)
    with walltime.transaction("job"):
        for key in ("user:alice@example.com", "user:alice@example.com", "user:bob", "session17abc", "plain"):
            client.get(key)
    client.close()
    alice, again, bob, session, plain = [
        call.attributes["walltime.memcache.key"] for call in sink.calls("memcache.get")
    ]
    assert alice == again != bob
    assert alice.startswith("user:#")
    assert session.startswith("session#")
    assert plain.startswith("#")
    assert b"alice" not in b"".join(request.SerializeToString() for request in sink.requests)


def test_raw_keys_are_a_setting(sink: Sink, memcache_server: tuple[str, int]) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, raw_keys=True)
    walltime.instrument("pymemcache")
    client = Client(memcache_server)
    with walltime.transaction("job"):
        client.get("user:alice")
    client.close()
    assert sink.calls("memcache.get")[0].attributes["walltime.memcache.key"] == "user:alice"
