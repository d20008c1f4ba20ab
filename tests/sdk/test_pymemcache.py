"""pymemcache against real memcached servers: hits, misses, errors and servers as the servers themselves see them."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
import walltime
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from pymemcache.client.retrying import RetryingClient
from pymemcache.exceptions import MemcacheServerError
from shop.services import LOOPBACK, Memcached, free_port
from walltime.clients.pymemcache import patches
from walltime.errors import PatchError

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


@pytest.mark.parametrize("make", [Client, PooledClient])
def test_an_error_that_ignore_exc_swallows_is_an_error_and_not_a_miss(recorded: Sink, make: Any) -> None:
    client = make((LOOPBACK, free_port()), connect_timeout=0.5, ignore_exc=True)
    with walltime.transaction("job"):
        assert client.get("anything", "fallback") == "fallback"
        assert client.gets("anything") == (None, None)
        assert client.get_many(["a", "b"]) == {}
    bill = recorded.transaction()
    assert bill.cell("memcache.get") == {"calls": 3, "keys": 4, "errors": 3}
    assert bill.cell("memcache.connect") == {"calls": 3, "errors": 3}
    for call in recorded.calls("memcache.get"):
        assert call.attributes["walltime.memcache.result"] == "error"
        assert call.attributes["error.type"] == "ConnectionRefusedError"


def test_a_server_that_answers_too_late_is_an_error_by_its_name(recorded: Sink) -> None:
    with socket.create_server((LOOPBACK, 0)) as silent:
        client = Client(silent.getsockname(), timeout=0.02, ignore_exc=True)
        with walltime.transaction("job"):
            try:
                os.environ["AN_ERROR_WHILE_IT_ASKS_THE_CACHE"]
            except KeyError:
                assert client.get("k") is None
        client.close()
    assert recorded.transaction().cell("memcache.get") == {"calls": 1, "keys": 1, "errors": 1}
    assert recorded.calls("memcache.get")[0].attributes["error.type"] == "TimeoutError"


def test_a_hit_while_the_application_handles_an_error_is_a_hit(recorded: Sink, server: tuple[str, int]) -> None:
    client = Client(server, ignore_exc=True)
    client.set("k", 1, noreply=False)
    client.close()
    with walltime.transaction("job"):
        try:
            os.environ["AN_ERROR_WHILE_IT_ASKS_THE_CACHE"]
        except KeyError:
            assert client.get("k") == b"1"
            assert client.get("absent") is None
    client.close()
    assert recorded.transaction().cell("memcache.get") == {"calls": 2, "keys": 2, "hits": 1, "misses": 1}


COUNTERS = {
    "cmd_get": "memcache.get keys", "get_hits": "memcache.get hits", "get_misses": "memcache.get misses",
    "delete_hits": "memcache.delete hits", "delete_misses": "memcache.delete misses",
    "incr_hits": "memcache.incr hits", "incr_misses": "memcache.incr misses",
    "decr_hits": "memcache.decr hits", "decr_misses": "memcache.decr misses",
    "touch_hits": "memcache.touch hits", "touch_misses": "memcache.touch misses",
}  # fmt: skip
"""The server's counters and what they are on the bill."""


def test_the_bill_counts_what_the_server_counts(recorded: Sink, server: tuple[str, int], memcached: Servers) -> None:
    client = PooledClient(server, default_noreply=False, allow_unicode_keys=True)
    before = memcached[0].stats()
    with walltime.transaction("job"):
        for number in range(50):
            key = f"schlüssel:{number % 7}"
            client.get(key)
            client.gets(key)
            client.get_many([key, f"absent:{number}", key])
            client.incr(key, 1)
            client.set(key, number) if number % 3 else client.delete(key)
            client.decr(key, 2)
            client.touch(key)
            client.delete_many([key, f"absent:{number}"]) if number % 5 == 0 else client.prepend(key, 1)
    after = memcached[0].stats()
    client.close()
    bill = recorded.transaction()
    for counter, ours in COUNTERS.items():
        component, count = ours.split()
        assert int(after[counter]) - int(before[counter]) == bill.cell(component).get(count, 0), counter
    stores = sum(bill.cell(f"memcache.{name}").get("calls", 0) for name in ("set", "prepend"))
    assert int(after["cmd_set"]) - int(before["cmd_set"]) == stores


class Fussy:
    """A serde that cannot take everything."""

    def serialize(self, key: Any, value: Any) -> tuple[bytes, int]:
        if value is None:
            raise ValueError("nothing to serialize")
        return str(value).encode(), 1

    def deserialize(self, key: Any, value: bytes, flags: int) -> Any:
        if flags != 1:
            raise TypeError("not ours")
        return None if value == b"null" else int(value)


@pytest.mark.parametrize("make", [Client, PooledClient, lambda server, **more: HashClient([server], **more)])
@pytest.mark.parametrize("ignore_exc", [False, True])
def test_a_serde_is_part_of_the_call(recorded: Sink, server: tuple[str, int], make: Any, ignore_exc: bool) -> None:
    client = make(server, serde=Fussy(), default_noreply=False, ignore_exc=ignore_exc)
    plain = Client(server)
    plain.set("foreign", b"x", noreply=False)
    with walltime.transaction("job"):
        assert client.set("zero", 0) is True
        assert client.set("nothing", "null") is True
        assert client.get("zero", "a default") == 0
        assert client.get("nothing", "a default") is None
        if isinstance(client, HashClient) and ignore_exc:
            assert client.set("k", None) is False
        else:
            with pytest.raises(ValueError, match="nothing to serialize"):
                client.set("k", None)
        if ignore_exc:
            assert client.get("foreign", "a default") == "a default"
        else:
            with pytest.raises(TypeError, match="not ours"):
                client.get("foreign", "a default")
    client.close()
    plain.close()
    bill = recorded.transaction()
    assert bill.cell("memcache.get") == {"calls": 3, "keys": 3, "hits": 2, "errors": 1}
    assert bill.cell("memcache.set") == {"calls": 3, "errors": 1}
    assert [call.attributes["error.type"] for call in recorded.calls() if "error.type" in call.attributes] == [
        "ValueError", "TypeError",
    ]  # fmt: skip


def test_a_key_is_the_same_key_in_every_operation(sink: Sink, server: tuple[str, int]) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, raw_keys=True)
    walltime.instrument("pymemcache")
    client = Client(server, key_prefix="shop/", default_noreply=False, allow_unicode_keys=True)
    with walltime.transaction("job"):
        client.set("größe:1", 1)
        client.get("größe:1")
        client.incr("größe:1", 1)
        client.touch("größe:1")
        client.delete_many(["größe:1", "größe:2"])
        client.get_many(("größe:1", "größe:2"))
        client.set_many({"größe:1": 1, "größe:2": 2})
    client.close()
    keys = [call.attributes["walltime.memcache.key"] for call in sink.calls() if "connect" not in call.span.name]
    assert keys == ["größe:1"] * 4 + ["größe:1 and 1 more"] * 3


def test_what_has_no_key_has_none_on_the_bill(recorded: Sink, server: tuple[str, int]) -> None:
    client = Client(server)
    with walltime.transaction("job"):
        assert b"pid" in client.stats()
        assert client.stats("settings")
        assert client.cache_memlimit(64) is True
        assert client.version().count(b".") == 2
        assert client.raw_command(b"get secret:1", b"END\r\n") == b""
        assert client.raw_command("verbosity 1") == b"OK"
        client.flush_all(noreply=False)
        client.quit()
        assert client.get_many([]) == {}
        assert client.delete_many([]) is True
        client.delete_many(iter(()))
    client.close()
    bill = recorded.transaction()
    assert bill.cell("memcache.admin") == {"calls": 8}
    assert "memcache.get" not in bill.times_ns()
    assert not [call for call in recorded.calls("memcache.admin") if "walltime.memcache.key" in call.attributes]


def test_without_a_reply_nothing_is_known_of_hits(recorded: Sink, server: tuple[str, int]) -> None:
    client = Client(server, default_noreply=True)
    with walltime.transaction("job"):
        client.set("a", 1)
        client.add("a", 1)
        client.set_many({"a": 1, "b": 2})
        client.delete("absent")
        client.delete_many(["a", "absent"])
        client.touch("a")
        client.incr("a", 1, noreply=True)
    client.get("a-last-answer")
    client.close()
    bill = recorded.transaction()
    assert bill.cell("memcache.set") == {"calls": 2}
    assert bill.cell("memcache.add") == {"calls": 1}
    assert bill.cell("memcache.delete") == {"calls": 2, "keys": 3}
    assert bill.cell("memcache.touch") == bill.cell("memcache.incr") == {"calls": 1, "keys": 1}
    results = {call.attributes.get("walltime.memcache.result") for call in recorded.calls()}
    assert results == {None, "sent"}  # None: connecting


def test_each_attempt_of_a_retrying_client_is_a_call(recorded: Sink) -> None:
    client = RetryingClient(Client((LOOPBACK, free_port()), connect_timeout=0.5), attempts=3)
    with walltime.transaction("job"), pytest.raises(ConnectionRefusedError):
        client.get("k")
    assert recorded.transaction().cell("memcache.get") == {"calls": 3, "keys": 3, "errors": 3}


def test_waiting_for_a_client_of_a_pool_has_its_line(recorded: Sink, server: tuple[str, int]) -> None:
    lock = threading.Lock()
    client = PooledClient(server, lock_generator=lambda: lock)
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
    assert ("memcache.pool", f"{server[0]}:{server[1]}") in bill.targets()


def test_a_pool_without_a_free_client_is_an_error_of_the_pool(recorded: Sink, server: tuple[str, int]) -> None:
    client = PooledClient(server, max_pool_size=1)
    taken = client.client_pool.get_and_release()
    with walltime.transaction("job"), taken, pytest.raises(RuntimeError, match="Too many objects"):
        client.get("k")
    client.close()
    assert recorded.transaction().cell("memcache.pool") == {"calls": 1, "errors": 1}


def test_a_library_that_takes_more_than_we_know_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def later(self: Any, name: bytes, keys: Any, expect_cas: bool, compress: bool = False) -> None: ...

    monkeypatch.setattr(Client, "_fetch_cmd", later)
    with pytest.raises(PatchError, match="_fetch_cmd takes compress"):
        patches()


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
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, raw_keys=True)
    walltime.instrument("pymemcache")
    client = Client(server)
    with walltime.transaction("job"):
        client.get("user:alice")
    client.close()
    assert sink.calls("memcache.get")[0].attributes["walltime.memcache.key"] == "user:alice"
