"""Fixtures of the SDK's tests: real servers, and an OTLP sink that decodes what the exporter really sends."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
import walltime
from pymemcache.client.base import Client
from shop.services import LOOPBACK, MariaDB, Memcached
from walltime import errors, runtime
from walltime.core import transaction as transaction_module
from walltime.core.execution import current
from walltime.instrumentation import libraries

from tests.redis_server import RedisServer
from tests.sdk.clients.cache.redis_counts import Redis
from tests.sdk.clients.http.upstream import Upstream, certificate_in
from tests.sdk.sink import Sink
from tests.server_folder import server_folder


@pytest.fixture(scope="session", autouse=True)
def installed_stays_installed() -> Iterator[None]:
    """Python looks for each library once, not in each `instrument`: 10 ms of CPU a test."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(libraries, "is_installed", functools.cache(libraries.is_installed))
        yield


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    with server_folder() as folder, MariaDB(folder, general_log=True) as server:
        yield server


@pytest.fixture(scope="session")
def memcached() -> Iterator[tuple[Memcached, Memcached]]:
    with (
        server_folder() as folder,
        Memcached("memcached1", folder / "1") as first,
        Memcached("memcached2", folder / "2") as second,
    ):
        yield first, second


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with server_folder() as folder, RedisServer(folder) as server:
        yield server


@pytest.fixture
def redis_client(redis_server: RedisServer) -> Iterator[Callable[..., Any]]:
    """Opens clients of an empty server; closes them at the end."""
    opened: list[Any] = []

    def connect(**arguments: Any) -> Any:
        opened.append(Redis(**{"host": LOOPBACK, "port": redis_server.port, **arguments}))
        return opened[-1]

    connect().flushall()
    yield connect
    for each in opened:
        each.close()
        each.connection_pool.disconnect()


@pytest.fixture
def memcache_server(memcached: tuple[Memcached, Memcached]) -> tuple[str, int]:
    """The address of the first, emptied."""
    client = Client((LOOPBACK, memcached[0].port))
    client.flush_all(noreply=False)
    client.close()
    return (LOOPBACK, memcached[0].port)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as running:
        yield running


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key."""
    return certificate_in(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def secure_upstream(certificate: tuple[Path, Path]) -> Iterator[Upstream]:
    with Upstream(certificate) as running:
        yield running
        gc.collect()  # a connection that a test left open fails this test, not one of another file


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as running:
        yield running


@pytest.fixture
def recorded(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sink]:
    """
    Walltime instrumented and exporting to the sink, every transaction with its calls; our own errors raised.

    Garbage is collected when a test asks for it: a pause would be on bills that tests compare to the nanosecond.
    """
    gc.disable()
    monkeypatch.setenv("WALLTIME_TESTING_RAISE", "1")
    walltime.configure(service_name="test", endpoint=sink.endpoint, sample_probability=1.0)
    walltime.instrument()
    yield sink
    gc.enable()
    walltime.uninstrument()
    walltime.shutdown()
    assert current() is None, "a transaction was left open"
    assert not errors.contained, errors.contained


@pytest.fixture
def connect(mariadb: MariaDB) -> Iterator[Callable[..., pymysql.connections.Connection[Any]]]:
    """Opens connections to the test database as the application's user; closes them at the end."""
    opened: list[pymysql.connections.Connection[Any]] = []

    def connect(**arguments: Any) -> pymysql.connections.Connection[Any]:
        connection = pymysql.connect(**{**mariadb.account(), **arguments})
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        if connection.open:
            connection.close()


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Whatever a test configures is gone before the next."""
    yield
    walltime.uninstrument()
    walltime.shutdown()
    runtime._exporter = runtime._settings = None
    runtime._retired.clear()
    runtime._counted.clear()
    errors.contained.clear()
    transaction_module.outside_calls.clear()
    errors._logged_at_s.clear()
