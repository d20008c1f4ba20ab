"""Caches that cannot be asked: a clear line in the log and on the status, the others go on, no password anywhere."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import redis
from shop.services import LOOPBACK, Memcached, free_port

from tests.collector.observe.unreachable import everything_written, rows, said, silent
from tests.redis_server import RedisServer
from tests.server_folder import server_folder
from tests.servers import Collector, eventually

WRONG: Final = "wr0ng-pa55word-Zx"
RIGHT: Final = "r1ght-pa55word-Zx"
BAD: Final = {
    "denied": "WRONGPASS|password",
    "rightless": "NOPERM|ACL|INFO",
    "anonymous": "NOAUTH|password",
    "silent_redis": "did not answer|timed out|no answer",
    "closed_redis": "refused",
    "memcached_as_redis": "",
    "no_tls": "TLS|SSL|closed",
    "silent_memcached": "did not answer|timed out|no answer",
    "closed_memcached": "refused",
    "redis_as_memcached": "",
}


class PasswordRedis(RedisServer):
    """Asks every client for its password, this one too."""

    def answers(self) -> bool:
        return bool(redis.Redis(LOOPBACK, self.port, password=RIGHT).ping())


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with server_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def caches(folder: Path) -> Iterator[tuple[PasswordRedis, Memcached]]:
    with (
        PasswordRedis(folder / "redis", requirepass=RIGHT) as server,
        Memcached("memcached", folder) as memcached,
        redis.Redis(LOOPBACK, server.port, password=RIGHT) as client,
    ):
        client.execute_command("ACL", "SETUSER", "nobody", "on", f">{RIGHT}", "-@all", "+ping")
        yield server, memcached


@pytest.fixture(scope="module")
def collector(folder: Path, caches: tuple[PasswordRedis, Memcached]) -> Iterator[Collector]:
    """It asks two good servers, and all the bad ones."""
    server, memcached = caches
    (folder / "wrong").write_text(WRONG)
    (folder / "empty").touch()
    with silent() as silent_address:
        of_redis = {
            "good_redis": f"redis://{server.address}",
            "denied": f"redis://{server.address}?password_file={folder / 'wrong'}",
            "rightless": f"redis://nobody@{server.address}",
            "anonymous": f"redis://{server.address}?password_file={folder / 'empty'}",
            "silent_redis": f"redis://{silent_address}",
            "closed_redis": f"redis://{LOOPBACK}:{free_port()}",
            "memcached_as_redis": f"redis://{memcached.address}",
            "no_tls": f"rediss://{server.address}",
        }
        of_memcached = {
            "good_memcached": memcached.address,
            "silent_memcached": silent_address,
            "closed_memcached": f"{LOOPBACK}:{free_port()}",
            "redis_as_memcached": server.address,
        }
        with Collector(
            folder / "data",
            redis=settings(of_redis),
            redis_password=RIGHT,
            memcached=settings(of_memcached),
        ) as running:
            eventually(lambda: set(said(running)) == {*of_redis, *of_memcached})
            yield running


def settings(addresses: dict[str, str]) -> str:
    return ",".join(f"{name}={address}" for name, address in addresses.items())


def seconds(collector: Collector, server: str) -> int:
    ((count,),) = rows(collector, f"SELECT count() FROM cache_status WHERE server = '{server}'")
    assert isinstance(count, int)
    return count


def goes_on(collector: Collector, server: str) -> None:
    """There are more and more rows of it."""
    before = seconds(collector, server)
    eventually(lambda: seconds(collector, server) > before)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_cache_has_a_clear_line_in_the_log_and_on_the_status(collector: Collector, name: str) -> None:
    error, lacks = said(collector)[name]
    assert error or lacks
    assert re.search(BAD[name], error or lacks), (error, lacks)
    assert any(name in line and re.search(BAD[name], line) for line in collector.log().splitlines()), collector.log()


@pytest.mark.parametrize("name", ["good_redis", "good_memcached"])
def test_the_others_are_asked_meanwhile(collector: Collector, name: str) -> None:
    goes_on(collector, name)
    assert said(collector)[name] == ("", "")
    assert collector.health()["status"] == "ok"


def test_no_password_is_anywhere(collector: Collector) -> None:
    for where, content in everything_written(collector):
        for secret in (WRONG, RIGHT):
            assert secret.encode() not in content, where


@pytest.mark.parametrize("number", [0, 1], ids=["redis", "memcached"])
def test_a_frozen_cache_is_named_and_asked_again(
    collector: Collector, caches: tuple[PasswordRedis, Memcached], number: int
) -> None:
    server, name = caches[number], ("good_redis", "good_memcached")[number]
    os.kill(server.pid, signal.SIGSTOP)
    try:
        eventually(lambda: said(collector)[name][0])
        goes_on(collector, ("good_memcached", "good_redis")[number])
    finally:
        os.kill(server.pid, signal.SIGCONT)
    eventually(lambda: not said(collector)[name][0])
    goes_on(collector, name)


@pytest.mark.parametrize("number", [0, 1], ids=["redis", "memcached"])
def test_a_cache_that_dies_is_named_and_its_restart_is_an_event(
    collector: Collector, caches: tuple[PasswordRedis, Memcached], number: int
) -> None:
    server, name = caches[number], ("good_redis", "good_memcached")[number]
    goes_on(collector, name)
    server.kill()
    eventually(lambda: said(collector)[name][0])
    server.start()
    eventually(lambda: not said(collector)[name][0])
    goes_on(collector, name)
    found = (
        f"SELECT event, what FROM server_events FINAL WHERE server = '{name}' AND event IN ('restarted', 'replaced')"
    )
    eventually(lambda: rows(collector, found))
    assert len(rows(collector, found)) == 1
