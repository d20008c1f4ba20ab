"""S6: hostile values in every place an application can put one: delivered, and none of their methods called."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pymemcache
import pymysql
import pytest
import requests
import walltime
from shop.services import MariaDB, Memcached
from walltime.core.execution import current

from tests.by_day import by_day
from tests.safety.hostile import VALUES, CameHere, called
from tests.sdk.sink import Sink

MOST_NS = 1_000_000

SAID: dict[str, Callable[[Any], object]] = {
    "name": lambda value: walltime.current().set_name(value),
    "user": lambda value: walltime.current().set_user(value),
    "annotation": lambda value: walltime.current().annotate("fact", value),
    "annotation's key": lambda value: walltime.current().annotate(value, 1),
    "failure": lambda value: walltime.current().fail(value),
    "component": lambda value: walltime.component(value).__enter__().__exit__(None, None, None),
    "transaction": lambda value: walltime.transaction(value).__enter__() and None,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("place", by_day(SAID, 2))
def test_what_the_application_says(place: str, value: Any, sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0)
    took_ns = []
    called.clear()
    for _ in range(3):
        with walltime.transaction("before"):
            began_ns = time.perf_counter_ns()
            SAID[place](value)
            took_ns.append(time.perf_counter_ns() - began_ns)
    assert called == {}
    assert len(sink.transactions()) == 3
    assert called == {}
    assert min(took_ns) <= MOST_NS


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_a_transaction_of_any_name(value: Any, sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint)
    called.clear()
    with walltime.transaction(value):
        pass
    assert len(sink.transactions()) == 1
    assert called == {}


@contextlib.contextmanager
def clients(mysql: dict[str, Any], memcached: tuple[str, int]) -> Iterator[dict[str, Callable[[Any], object]]]:
    """Calls that take a value, by the place where they take it."""
    connection = pymysql.connect(**mysql, ssl_disabled=True)
    client = pymemcache.Client(memcached, no_delay=True)
    session = requests.Session()
    cursor = connection.cursor()
    yield {
        "statement": cursor.execute,
        "statement of a connection": connection.query,
        "argument": lambda value: cursor.execute("SELECT %s", (value,)),
        "arguments": lambda value: cursor.executemany("SELECT %s", value),
        "key": client.get,
        "keys": lambda value: client.get_many([value]),
        "all keys": client.get_many,
        "value": lambda value: client.set("key", value),
        "values": client.set_many,
        "amount": lambda value: client.incr("key", value),
        "URL": lambda value: session.get(value, timeout=0.5),
        "path": lambda value: session.get(f"http://127.0.0.1:1/{value}", timeout=0.5),
        "header": lambda value: session.get("http://127.0.0.1:1/", headers={"x": value}, timeout=0.5),
        "method": lambda value: session.request(value, "http://127.0.0.1:1/", timeout=0.5),
    }
    session.close()
    client.close()
    if connection.open:
        connection.close()


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_what_clients_are_given(
    value: Any, sink: Sink, mariadb: MariaDB, memcached: tuple[Memcached, Memcached], monkeypatch: pytest.MonkeyPatch
) -> None:
    def outcomes() -> dict[str, object]:
        with clients(mariadb.account(), ("127.0.0.1", memcached[0].port)) as calls:
            is_large = type(value) in {str, bytes} and len(value) > 1_000_000
            places = ("statement", "argument", "key", "value") if is_large else calls.keys()
            return {place: outcome(calls[place], value) for place in places}

    monkeypatch.setenv("WALLTIME_TESTING_RAISE", "1")
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0)
    without = outcomes()
    walltime.instrument()
    with walltime.transaction("hostile"):
        inside = outcomes()
    outside = outcomes()
    assert inside == without
    assert outside == without
    called.clear()
    assert len(sink.transactions()) == 1
    assert called == {}


def outcome(call: Callable[[Any], object], value: Any) -> tuple[str, Counter[str]]:
    """How the call ended, and which of the value's methods were called."""
    called.clear()
    try:
        call(value)
    except CameHere as error:
        return f"came here: {error}", Counter(called)
    except Exception as error:  # noqa: BLE001  # whatever it is, it has to be the same with us
        return type(error).__name__, Counter(called)
    return "answered", Counter(called)


def test_nothing_is_left_open() -> None:
    assert current() is None
