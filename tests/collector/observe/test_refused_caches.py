"""Caches that cannot be asked: a clear line in the log and on the status, the others go on, no password anywhere."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import redis
from shop.services import LOOPBACK, Memcached, free_port

from tests.collector.observe.unreachable import (
    Lines,
    everything_written,
    is_healthy,
    rows,
    said,
    silent,
    stranger,
    wait_for_each,
)
from tests.redis_server import RedisServer
from tests.server_folder import server_folder
from tests.servers import Collector, eventually

WRONG: Final = "wr0ng-pa55word-Zx"
RIGHT: Final = "r1ght-pa55word-Zx"
BAD: Final = {
    "denied": "WRONGPASS|password",
    "rightless": "NOPERM|ACL|INFO",
    "anonymous": "NOAUTH|password",
    "silent_redis": "did not answer",
    "closed_redis": "refused",
    "memcached_as_redis": "does not answer as a Redis",
    "stranger_as_redis": "does not answer as a Redis",
    "no_tls": "TLS|SSL|closed",
    "silent_memcached": "did not answer",
    "closed_memcached": "refused",
    "stranger_as_memcached": "does not answer as a memcached",
    "redis_as_memcached": "does not answer as a memcached",
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
    with silent() as silent_address, stranger(b"SSH-2.0-OpenSSH_9.2p1\r\n") as stranger_address:
        of_redis = {
            "good_redis": f"redis://{server.address}",
            "denied": f"redis://{server.address}?password_file={folder / 'wrong'}",
            "rightless": f"redis://nobody@{server.address}",
            "anonymous": f"redis://{server.address}?password_file={folder / 'empty'}",
            "silent_redis": f"redis://{silent_address}",
            "closed_redis": f"redis://{LOOPBACK}:{free_port()}",
            "memcached_as_redis": f"redis://{memcached.address}",
            "stranger_as_redis": f"redis://{stranger_address}",
            "no_tls": f"rediss://{server.address}",
        }
        of_memcached = {
            "good_memcached": memcached.address,
            "silent_memcached": silent_address,
            "closed_memcached": f"{LOOPBACK}:{free_port()}",
            "stranger_as_memcached": stranger_address,
            "redis_as_memcached": server.address,
        }
        with Collector(
            folder / "data",
            redis=settings(of_redis),
            redis_password=RIGHT,
            memcached=settings(of_memcached),
        ) as running:
            wait_for_each(running, (*of_redis, *of_memcached))
            yield running


def settings(addresses: dict[str, str]) -> str:
    return ",".join(f"{name}={address}" for name, address in addresses.items())


def goes_on(collector: Collector, server: str) -> None:
    """There are newer rows of it."""
    newest = f"SELECT max(at) FROM cache_status WHERE server = '{server}'"
    before = rows(collector, newest)
    time.sleep(2)  # they are stored every three seconds, and a question takes CPU
    eventually(lambda: rows(collector, newest) > before)


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
    assert is_healthy(collector)


def test_no_password_is_anywhere(collector: Collector) -> None:
    for where, content in everything_written(collector):
        for secret in (WRONG, RIGHT):
            assert secret.encode() not in content, where


@pytest.mark.nightly
@pytest.mark.parametrize("number", [0, 1])
def test_a_frozen_cache_is_named_and_asked_again(
    collector: Collector, caches: tuple[PasswordRedis, Memcached], number: int
) -> None:
    server, name = caches[number], ("good_redis", "good_memcached")[number]
    lines = Lines(collector, name)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        lines.wait_for("did not answer")
        goes_on(collector, ("good_memcached", "good_redis")[number])
    finally:
        os.kill(server.pid, signal.SIGCONT)
    lines.wait_for("is observed")
    goes_on(collector, name)


@pytest.mark.parametrize("number", [pytest.param(0, marks=pytest.mark.nightly), 1])
def test_a_cache_that_dies_is_named_and_its_restart_is_an_event(
    collector: Collector, caches: tuple[PasswordRedis, Memcached], number: int
) -> None:
    server, name = caches[number], ("good_redis", "good_memcached")[number]
    goes_on(collector, name)
    lines = Lines(collector, name)
    server.kill()
    lines.wait_for("refused|closed")
    server.start()
    lines.wait_for("is observed")
    found = (
        f"SELECT event, what FROM server_events FINAL WHERE server = '{name}' AND event IN ('restarted', 'replaced')"
    )
    eventually(lambda: rows(collector, found))
    assert len(rows(collector, found)) == 1
