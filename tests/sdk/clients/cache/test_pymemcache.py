"""pymemcache against real memcached servers: hits, misses, errors and servers as the servers themselves see them."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest
import walltime
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from shop.services import LOOPBACK, Memcached

from tests.ports import refusing_port
from tests.sdk.sink import Sink

Servers = tuple[Memcached, Memcached]


def test_falsy_values_are_hits_and_defaults_are_misses(recorded: Sink, memcache_server: tuple[str, int]) -> None:
    client = Client(memcache_server)
    client.set("empty", b"", noreply=False)
    with walltime.transaction("job"):
        assert client.get("empty", b"a default") == b""
        assert client.get("absent", b"a default") == b"a default"
        assert client.gets("absent") == (None, None)
    client.close()
    bill = recorded.transaction()
    assert bill.cell("memcache.get") == {"calls": 3, "keys": 3, "hits": 1, "misses": 2}
    assert bill.targets()["memcache.get", f"{memcache_server[0]}:{memcache_server[1]}"] == {
        "calls": 3, "errors": 0, "hits": 1, "misses": 2,
    }  # fmt: skip
    assert [call.attributes["walltime.memcache.result"] for call in recorded.calls("memcache.get")] == [
        "hit", "miss", "miss",
    ]  # fmt: skip


def test_a_multi_get_is_one_call_that_counts_its_keys(recorded: Sink, memcache_server: tuple[str, int]) -> None:
    client = Client(memcache_server)
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
    recorded: Sink, memcache_server: tuple[str, int], memcached: Servers
) -> None:
    client = Client(memcache_server)
    client.set("card:1", b"1", noreply=False)
    before = memcached[0].stats()
    with walltime.transaction("job"):
        assert client.get_many(["card:1", "card:2", "card:1"]) == {"card:1": b"1"}
    after = memcached[0].stats()
    client.close()
    hits, misses = (int(after[counter]) - int(before[counter]) for counter in ("get_hits", "get_misses"))
    assert (hits, misses) == (2, 1)
    assert recorded.transaction().cell("memcache.get") == {"calls": 1, "keys": 3, "hits": 2, "misses": 1}


def test_every_operation_has_its_line(recorded: Sink, memcache_server: tuple[str, int]) -> None:
    client = Client(memcache_server, default_noreply=False)
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
    client = make((LOOPBACK, refusing_port()), connect_timeout=0.5, ignore_exc=True)
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


def test_a_hit_while_the_application_handles_an_error_is_a_hit(
    recorded: Sink, memcache_server: tuple[str, int]
) -> None:
    client = Client(memcache_server, ignore_exc=True)
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
"""The memcache_server's counters and what they are on the bill."""


def test_the_bill_counts_what_the_server_counts(
    recorded: Sink, memcache_server: tuple[str, int], memcached: Servers
) -> None:
    client = PooledClient(memcache_server, default_noreply=False, allow_unicode_keys=True)
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


@pytest.mark.parametrize(
    "make", [Client, PooledClient, lambda memcache_server, **more: HashClient([memcache_server], **more)]
)
@pytest.mark.parametrize("ignore_exc", [False, True])
def test_a_serde_is_part_of_the_call(
    recorded: Sink, memcache_server: tuple[str, int], make: Any, ignore_exc: bool
) -> None:
    client = make(memcache_server, serde=Fussy(), default_noreply=False, ignore_exc=ignore_exc)
    plain = Client(memcache_server)
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


def test_a_key_is_the_same_key_in_every_operation(sink: Sink, memcache_server: tuple[str, int]) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, raw_keys=True)
    walltime.instrument("pymemcache")
    client = Client(memcache_server, key_prefix="shop/", default_noreply=False, allow_unicode_keys=True)
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


def test_what_has_no_key_has_none_on_the_bill(recorded: Sink, memcache_server: tuple[str, int]) -> None:
    client = Client(memcache_server)
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


def test_without_a_reply_nothing_is_known_of_hits(recorded: Sink, memcache_server: tuple[str, int]) -> None:
    client = Client(memcache_server, default_noreply=True)
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
