"""Caches that bills name are asked by themselves: no others, not too many, without a password."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import redis
from pydantic import SecretStr
from shop.services import LOOPBACK, Memcached, free_port
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.config.settings import Settings
from walltime_collector.health.counters import Health
from walltime_collector.observe.caches import discovery, servers
from walltime_collector.observe.writer import Writer

from tests.collector.observe import visitors
from tests.collector.observe.unreachable import rows, said
from tests.redis_server import RedisServer
from tests.server_folder import server_folder
from tests.servers import Collector, eventually, over_http

PASSWORD: Final = "r1ght-pa55word-Zx"
HOUR_S = 3_600


class PasswordRedis(RedisServer):
    """Asks every client for its password, this one too."""

    def answers(self) -> bool:
        return bool(redis.Redis(LOOPBACK, self.port, password=PASSWORD).ping())


class Caches:
    """A collector's threads of caches, on bills that are written here."""

    def __init__(self, engine: Engine, folder: Path, **settings: Any) -> None:
        self.health, self._engine, self._sent = Health(), engine, 0
        engine.command("TRUNCATE TABLE targets_1m")
        known = Settings(data=folder, discover_caches=True, redis_password=SecretStr(PASSWORD), **settings)
        *self._configured, found = servers.caches(known, engine, Writer(engine, self.health), self.health)
        assert isinstance(found, discovery.Discovery)
        self.discovery = found
        """It is no thread here: it looks when bills have named something."""
        for each in self._configured:
            each.start()

    def named(self, *addresses: str, component: str = "memcache.get", ago_s: int = 0) -> None:
        """Bills name these, the first one the most, and the collector looks."""
        minute, self._sent = int(time.time()) - ago_s, self._sent + 1
        rows = [
            {"minute": minute, "component": component, "address": each, "calls": len(addresses) - at}
            for at, each in enumerate(addresses)
        ]
        encoded = b"".join(json.dumps(each).encode() + b"\n" for each in rows)
        self._engine.insert_rows("targets_1m", encoded, f"{id(self)}-{self._sent}")
        self.discovery.step()

    def forgotten(self) -> None:
        """No bill names any."""
        self._engine.command("TRUNCATE TABLE targets_1m")
        self.discovery.step()

    @property
    def said(self) -> dict[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = self.health.report()["servers"]
        return found

    def stop(self) -> None:
        for each in (*self._configured, *self.discovery._watched.values()):
            each.stop(5)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with server_folder() as folder:
        yield folder


@pytest.fixture
def caches(engine: Engine, tmp_path: Path) -> Iterator[Caches]:
    caches = Caches(engine, tmp_path)
    yield caches
    caches.stop()


@pytest.fixture
def memcached(folder: Path) -> Iterator[Memcached]:
    with Memcached("memcached", folder) as server:
        yield server


def test_those_of_bills_are_asked_while_bills_name_them(caches: Caches, memcached: Memcached, folder: Path) -> None:
    with Memcached("second", folder) as second, RedisServer(folder) as server:
        both = [memcached.address, second.address]
        caches.named(*both)
        caches.named(server.address, component="redis.get")
        eventually(lambda: caches.said == dict.fromkeys([*both, server.address], ("", "")))
        caches.named("10.0.0.9:11211", ago_s=HOUR_S + 120)
        assert len(caches.said) == 3, "one of an hour ago"
        caches.forgotten()
        assert caches.said == {}


def test_a_configured_cache_is_asked_once(engine: Engine, memcached: Memcached, tmp_path: Path) -> None:
    caches = Caches(engine, tmp_path, memcached=(memcached.address,))
    caches.named(memcached.address, f"localhost:{memcached.port}")
    eventually(lambda: caches.said == {memcached.address: ("", "")})
    caches.stop()


def test_no_password_is_sent_to_one_that_a_bill_named(caches: Caches, folder: Path) -> None:
    with PasswordRedis(folder, requirepass=PASSWORD) as server:
        caches.named(server.address, component="redis.get")  # the right one would let the collector in
        option = f"wants a password: --redis {server.address}=redis://{server.address}?password_file=PATH"
        eventually(lambda: option in caches.said.get(server.address, ("", ""))[0])


@pytest.mark.parametrize(
    "text",
    ["/run/cache.sock", "", "(other)", "cache:0", "cache:99999", "h?password_file=/etc/passwd:1", "u@h:1", "a b:1"],
)
def test_what_is_no_host_and_port_is_not_asked(caches: Caches, text: str) -> None:
    caches.named(text)
    assert caches.said == {}
    assert not caches.discovery._watched


def test_there_is_a_limit_and_the_rest_is_counted(caches: Caches) -> None:
    closed: set[str] = set()
    while len(closed) < discovery._MOST + 3:  # a free port can be given twice
        closed.add(f"{LOOPBACK}:{free_port()}")
    caches.named(*closed)
    assert len(caches.discovery._watched) == discovery._MOST
    assert "not the 3 more" in caches.said["--discover-caches"][1]
    eventually(lambda: len(caches.said) == discovery._MOST + 1)
    assert all("refused" in error for error, _ in caches.said.values() if error)
    caches.forgotten()
    assert caches.said == {}


def test_an_unknown_host_is_tried_again(caches: Caches) -> None:
    caches.named("no-such-host.invalid:11211")
    eventually(lambda: "cannot be reached" in caches.said.get("no-such-host.invalid:11211", ("", ""))[0])


@pytest.mark.nightly
def test_a_collector_asks_the_caches_of_a_program_and_shows_them(folder: Path) -> None:
    with (
        Memcached("first", folder) as first,
        Memcached("other", folder) as other,
        RedisServer(folder / "asked") as server,
        Collector(folder / "collector", discover_caches="true") as collector,
    ):
        told = {"visits": 5, "rate": 50, "prefix": "item", "keys": 5, "item_bytes": 10, "seed": 1}
        visits = [
            {**told, "system": system, "port": each.port, "kind": f"GET /{each.port}"}
            for system, each in (("memcached", first), ("memcached", other), ("redis", server))
        ]
        environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.otlp_url.removesuffix("/v1/traces")}
        command = [sys.executable, visitors.__file__]
        subprocess.run(command, env=environment, input=json.dumps(visits) + "\n", text=True, check=True, stdout=-1)
        named = {first.address, other.address, f"localhost:{server.port}"}
        eventually(lambda: said(collector) == dict.fromkeys(named, ("", "")))
        metrics = over_http("GET", f"{collector.web_url}/metrics").text
        assert all(f'walltime_server_ok{{server="{each}"}} 1.0' in metrics for each in named)
        page = over_http("GET", f"{collector.web_url}/collector").text
        assert all(each in page for each in named)
        eventually(
            lambda: {server for (server,) in rows(collector, "SELECT DISTINCT server FROM cache_status")} == named
        )
