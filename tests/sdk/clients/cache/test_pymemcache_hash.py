"""Servers that fail under a HashClient: calls that are not made are neither misses nor errors, and nothing changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import walltime
from pymemcache.client.hash import HashClient
from pymemcache.exceptions import MemcacheError, MemcacheIllegalInputError
from shop.services import LOOPBACK, Memcached

from tests.ports import refusing_port
from tests.sdk.sink import Received, Sink

LOST: dict[str, Any] = {"connect_timeout": 0.5, "ignore_exc": True, "retry_attempts": 2, "retry_timeout": 60}
"""A client that gives defaults for a server that failed, and tries it again after a minute."""


@pytest.fixture
def dead() -> tuple[str, int]:
    return (LOOPBACK, refusing_port())


def cells(bill: Received) -> dict[str, dict[str, int]]:
    """What is not zero, by operation."""
    found = {name.removeprefix("memcache."): bill.cell(name) for name in bill.times_ns()}
    return {name: {counter: count for counter, count in cell.items() if count} for name, cell in found.items()}


def every_operation(client: HashClient) -> list[Any]:
    """What each returns, or the class of what it raises."""
    calls: list[Callable[[], Any]] = [
        lambda: client.get("k", "a default"),
        lambda: client.gets("k"),
        lambda: client.get_many(["k", "l"]),
        lambda: client.gets_many(["k"]),
        lambda: client.get_multi(["k"]),
        lambda: client.get_many([]),
        lambda: client.set("k", 1),
        lambda: client.add("k", 1),
        lambda: client.replace("k", 1),
        lambda: client.append("k", 1),
        lambda: client.prepend("k", 1),
        lambda: client.cas("k", 1, 1),
        lambda: sorted(client.set_many({"k": 1, "l": 2})),
        lambda: sorted(client.set_multi(values={"k": 1})),
        lambda: client.set_many({}),
        lambda: client.delete("k"),
        lambda: client.delete_many(["k", "l"]),
        lambda: client.incr("k", 1),
        lambda: client.decr("k", 1),
        lambda: client.touch("k"),
        client.flush_all,
        client.close,
    ]
    results = []
    for call in calls:
        try:
            results.append(call())
        except Exception as error:  # noqa: BLE001  # whatever it is
            results.append((type(error), error.args, error.__cause__))
    return results


SKIPPED = {
    "get": {"skipped": 5},
    "set": {"skipped": 3},
    "add": {"skipped": 1},
    "replace": {"skipped": 1},
    "append": {"skipped": 1},
    "prepend": {"skipped": 1},
    "cas": {"skipped": 1},
    "delete": {"skipped": 3},
    "incr": {"skipped": 1},
    "decr": {"skipped": 1},
    "touch": {"skipped": 1},
}
"""`every_operation` when no call is made."""


@pytest.mark.parametrize("pooled", [False, True])
def test_calls_to_a_server_that_just_failed_are_skipped(recorded: Sink, dead: tuple[str, int], pooled: bool) -> None:
    client = HashClient([dead], use_pooling=pooled, **LOST)
    with walltime.transaction("the failure"):
        assert client.get("k") is None
    with walltime.transaction("after it"):
        every_operation(client)
    failure, after = recorded.transactions()
    assert failure.cell("memcache.get") == {"calls": 1, "keys": 1, "errors": 1}
    assert cells(after) == {**SKIPPED, "admin": {"skipped": 1}}
    assert sum(after.times_ns().values()) == 0
    calls = [call for call in recorded.calls() if call.attributes.get("walltime.memcache.result") == "skipped"]
    assert len(calls) == 20
    assert {call.span.status.code for call in calls} == {0}
    assert {call.attributes["server.port"] for call in calls} == {dead[1]}
    assert sum(after.attributes["walltime.target.skipped"]) == 20


@pytest.mark.parametrize("ignore_exc", [True, False])
def test_when_no_server_is_left_all_calls_are_skipped(recorded: Sink, dead: tuple[str, int], ignore_exc: bool) -> None:
    client = HashClient([dead], **{**LOST, "retry_attempts": 0, "dead_timeout": 600, "ignore_exc": ignore_exc})
    with walltime.transaction("the failure"):
        try:
            client.get("k")
        except ConnectionRefusedError:
            assert not ignore_exc
    with walltime.transaction("after it"):
        every_operation(client)
        with pytest.raises(MemcacheIllegalInputError):
            client.get("an illegal key")
    _, after = recorded.transactions()
    # Without ignore_exc the first of the two keys of delete_many raises; flush_all still goes to the server.
    expected = SKIPPED if ignore_exc else {**SKIPPED, "delete": {"skipped": 2}}
    found = cells(after)
    assert {name: found[name] for name in SKIPPED} == expected
    assert found["admin"] == {"calls": 1, "errors": 1}


def test_a_dead_server_that_is_tried_again_is_a_call(recorded: Sink, dead: tuple[str, int]) -> None:
    client = HashClient([dead], **{**LOST, "retry_attempts": 1, "retry_timeout": 0.4, "dead_timeout": 1.2})
    with walltime.transaction("job"):
        client.get("k")  # fails
        client.get("k")  # skipped
        time.sleep(0.41)
        client.get("k")  # tried again, fails
        client.get("k")  # the last try: it is dead
        client.get("k")  # nobody left
        time.sleep(1.21)
        client.get("k")  # put back, fails
        client.get("k")  # the last try again
        client.get("k")  # nobody left
    assert recorded.transaction().cell("memcache.get") == {"calls": 5, "keys": 5, "errors": 5, "skipped": 3}


def test_the_servers_that_are_left_are_asked_and_counted(
    recorded: Sink, memcached: tuple[Memcached, Memcached], dead: tuple[str, int]
) -> None:
    alive = (LOOPBACK, memcached[0].port)
    client = HashClient([alive, dead], **LOST)
    keys = [f"both:{number}" for number in range(40)]
    owners = {key: client.hasher.get_node(key) for key in keys}
    here = [key for key in keys if owners[key] == f"{LOOPBACK}:{alive[1]}"]
    assert 0 < len(here) < len(keys)
    for key in keys:
        client.set(key, 1, noreply=False)
    before = memcached[0].stats()
    with walltime.transaction("job"):
        assert client.get_many(keys) == dict.fromkeys(here, b"1")
        for key in keys:
            assert client.get(key) == (b"1" if key in here else None)
        assert set(client.set_many(dict.fromkeys(keys, 2), noreply=False)) == set(keys) - set(here)
    client.close()
    after = memcached[0].stats()
    bill = recorded.transaction()
    there = len(keys) - len(here)
    assert bill.cell("memcache.get") == {
        "calls": 1 + len(here), "keys": 2 * len(here), "hits": 2 * len(here), "skipped": 1 + there,
    }  # fmt: skip
    assert int(after["get_hits"]) - int(before["get_hits"]) == 2 * len(here)
    assert int(after["get_misses"]) == int(before["get_misses"])
    assert bill.cell("memcache.set") == {"calls": 1, "skipped": 1}


@pytest.mark.parametrize("ignore_exc", [True, False])
@pytest.mark.parametrize("retry_attempts", [0, 1])
def test_nothing_that_the_application_sees_changes(
    recorded: Sink, dead: tuple[str, int], ignore_exc: bool, retry_attempts: int
) -> None:
    def results() -> list[Any]:
        client = HashClient([dead], **{**LOST, "retry_attempts": retry_attempts, "ignore_exc": ignore_exc})
        return [every_operation(client) for _ in range(2)]

    with walltime.transaction("job"):
        seen = results()
    walltime.uninstrument()
    assert seen == results()
    walltime.instrument()
    assert seen == results()  # outside of any transaction


def test_all_servers_down_is_said_as_ever(recorded: Sink, dead: tuple[str, int]) -> None:
    client = HashClient([dead], **{**LOST, "retry_attempts": 0, "ignore_exc": False})
    with walltime.transaction("job"):
        with pytest.raises(ConnectionRefusedError):
            client.get("k")
        with pytest.raises(MemcacheError, match="All servers seem to be down right now") as caught:
            client.get("k")
    assert caught.value.__context__ is caught.value.__cause__ is None
