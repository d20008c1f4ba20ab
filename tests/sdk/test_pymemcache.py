"""pymemcache against real memcached servers: hits, misses, errors and servers as the servers themselves see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import walltime
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from pymemcache.client.retrying import RetryingClient
from pymemcache.exceptions import MemcacheServerError
from shop.services import LOOPBACK, Memcached, free_port

from tests.sdk.sink import Sink

Servers = tuple[Memcached, Memcached]


@pytest.fixture
def server(memcached: Servers) -> tuple[str, int]:
    client = Client((LOOPBACK, memcached[0].port))
    client.flush_all(noreply=False)
    client.close()
    return (LOOPBACK, memcached[0].port)


def test_falsy_values_are_hits_and_defaults_are_misses(recorded: Sink, server: tuple[str, int]) -> None:
    client = Client(server)
    client.set("empty", b"", noreply=False)
    with walltime.transaction("job"):
        assert client.get("empty", b"a default") == b""
        assert client.get("absent", b"a default") == b"a default"
        assert client.gets("absent") == (None, None)
    client.close()
    bill = recorded.transaction()
    assert bill.cell("memcache.get") == {"calls": 3, "keys": 3, "hits": 1, "misses": 2}
    assert bill.targets()["memcache.get", f"{server[0]}:{server[1]}"] == {
        "calls": 3, "errors": 0, "hits": 1, "misses": 2,
    }  # fmt: skip
    assert [call.attributes["walltime.memcache.result"] for call in recorded.calls("memcache.get")] == [
        "hit", "miss", "miss",
    ]  # fmt: skip


def test_a_multi_get_is_one_call_that_counts_its_keys(recorded: Sink, server: tuple[str, int]) -> None:
    client = Client(server)
    client.set_many({"a:1": b"1", "a:2": b"2"}, noreply=False)
    with walltime.transaction("job"):
        assert client.get_many(["a:1", "a:2", "a:3"]) == {"a:1": b"1", "a:2": b"2"}
        assert client.get_many(("a:1",)) == {"a:1": b"1"}
        assert client.get_many([]) == {}
    client.close()
    assert recorded.transaction().cell("memcache.get") == {"calls": 2, "keys": 4, "hits": 3, "misses": 1}
    first, second = recorded.calls("memcache.get")
    assert first.attributes["walltime.memcache.result"] == "2/3"
    assert first.attributes["walltime.memcache.key"].startswith("a:#")
    assert first.attributes["walltime.memcache.key"].endswith(" and 2 more")
    assert second.attributes["walltime.memcache.result"] == "hit"


def test_a_key_asked_for_twice_is_found_twice_as_the_server_counts_it(
    recorded: Sink, server: tuple[str, int], memcached: Servers
) -> None:
    client = Client(server)
    client.set("card:1", b"1", noreply=False)
    before = memcached[0].stats()
    with walltime.transaction("job"):
        assert client.get_many(["card:1", "card:2", "card:1"]) == {"card:1": b"1"}
    after = memcached[0].stats()
    client.close()
    hits, misses = (int(after[counter]) - int(before[counter]) for counter in ("get_hits", "get_misses"))
    assert (hits, misses) == (2, 1)
    assert recorded.transaction().cell("memcache.get") == {"calls": 1, "keys": 3, "hits": 2, "misses": 1}


def test_every_operation_has_its_line(recorded: Sink, server: tuple[str, int]) -> None:
    client = Client(server, default_noreply=False)
    with walltime.transaction("job"):
        assert client.set("n", 1) is True
        assert client.add("n", 2) is False
        assert client.replace("absent", 2) is False
        assert client.append("n", 0) is True
        assert client.incr("n", 5) == 15
        assert client.incr("absent", 5) is None
        assert client.decr("n", 5) == 10
        assert client.touch("n", 100) is True
        assert client.touch("absent", 100) is False
        _, version = client.gets("n")
        assert client.cas("n", 3, version) is True
        assert client.delete("n") is True
        assert client.delete("n") is False
        client.set("quiet", 1, noreply=True)
        client.set_many({"x": 1, "y": 2})
        client.version()
    client.close()
    bill = recorded.transaction()
    cells = {name.partition(".")[2]: bill.cell(name) for name in bill.times_ns()}
    assert cells == {
        "connect": {"calls": 1},
        "set": {"calls": 3},
        "add": {"calls": 1, "not_stored": 1},
        "replace": {"calls": 1, "not_stored": 1},
        "append": {"calls": 1},
        "incr": {"calls": 2, "keys": 2, "hits": 1, "misses": 1},
        "decr": {"calls": 1, "keys": 1, "hits": 1},
        "touch": {"calls": 2, "keys": 2, "hits": 1, "misses": 1},
        "get": {"calls": 1, "keys": 1, "hits": 1},
        "cas": {"calls": 1},
        "delete": {"calls": 2, "keys": 2, "hits": 1, "misses": 1},
        "admin": {"calls": 1},
    }
    results = [call.attributes.get("walltime.memcache.result") for call in recorded.calls("memcache.set")]
    assert results == ["stored", "sent", "2/2"]


def test_an_error_that_ignore_exc_swallows_is_an_error_and_not_a_miss(recorded: Sink) -> None:
    client = Client((LOOPBACK, free_port()), connect_timeout=0.5, ignore_exc=True)
    with walltime.transaction("job"):
        assert client.get("anything", "fallback") == "fallback"
    bill = recorded.transaction()
    assert bill.cell("memcache.get") == {"calls": 1, "keys": 1, "errors": 1}
    assert bill.cell("memcache.connect") == {"calls": 1, "errors": 1}
    assert recorded.calls("memcache.get")[0].attributes["walltime.memcache.result"] == "error"


def test_a_dead_server_reaches_the_caller_unchanged(recorded: Sink) -> None:
    client = Client((LOOPBACK, free_port()), connect_timeout=0.5)
    with walltime.transaction("job"), pytest.raises(ConnectionRefusedError):
        client.get("anything")
    assert recorded.transaction().cell("memcache.get") == {"calls": 1, "keys": 1, "errors": 1}


def test_a_refused_store_is_an_error(recorded: Sink, server: tuple[str, int]) -> None:
    client = Client(server)
    with walltime.transaction("job"), pytest.raises(MemcacheServerError):
        client.set("large", b"x" * (2 << 20), noreply=False)
    client.close()
    assert recorded.transaction().cell("memcache.set") == {"calls": 1, "errors": 1}


def test_a_connect_inside_a_get_is_billed_once(recorded: Sink, server: tuple[str, int]) -> None:
    client = Client(server)
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
    client = wrap([(LOOPBACK, server.port) for server in memcached])
    before = [server.stats() for server in memcached]
    with walltime.transaction("job"):
        for n in range(20):
            client.set(f"k{n}", n, noreply=False)
        for n in range(30):
            client.get(f"k{n}")
    client.close()
    after = [server.stats() for server in memcached]
    bill = recorded.transaction()
    assert bill.cell("memcache.get") == {"calls": 30, "keys": 30, "hits": 20, "misses": 10}
    targets = bill.targets()
    for server, was, now in zip(memcached, before, after, strict=True):
        target = targets.get(("memcache.get", f"{LOOPBACK}:{server.port}"), {"hits": 0, "misses": 0})
        assert target["hits"] == int(now["get_hits"]) - int(was["get_hits"])
        assert target["misses"] == int(now["get_misses"]) - int(was["get_misses"])


def test_keys_leave_the_process_as_prefix_and_keyed_hash(sink: Sink, server: tuple[str, int]) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, key_salt="a deployment's own")
    walltime.instrument("pymemcache")
    client = Client(server)
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


def test_raw_keys_are_a_setting(sink: Sink, server: tuple[str, int]) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, raw_memcache_keys=True)
    walltime.instrument("pymemcache")
    client = Client(server)
    with walltime.transaction("job"):
        client.get("user:alice")
    client.close()
    assert sink.calls("memcache.get")[0].attributes["walltime.memcache.key"] == "user:alice"
