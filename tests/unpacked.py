"""Servers that .ci/servers.sh keeps beside the system: MySQL, and by night other versions of those that we have."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from shop.process import ProgramMissingError

SCRIPT = Path(__file__).parents[1] / ".ci/servers.sh"
MARIADB = ("mariadb-trixie",)
MEMCACHED = ("memcached-trixie", "memcached-sid")
OTHER_MARIADB = [pytest.param(name, marks=pytest.mark.nightly) for name in MARIADB]
REDIS = ("redis-trixie", "redis-sid", "valkey-trixie", "valkey-sid")


def unpacked(name: str) -> Path:
    """
    The folder with the programs of a server, `mysql-sid` or `redis-trixie`; fetched unless it is there.

    Raises:
        ProgramMissingError: There is no such server for this machine.
    """
    done = subprocess.run(["sh", SCRIPT, name], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        reason = done.stderr.strip()
        raise ProgramMissingError(f"{name} is not here. sh .ci/servers.sh {name} could not fetch it: {reason}")
    return Path(done.stdout.strip())


@contextmanager
def preferred(name: str) -> Iterator[None]:
    """Servers that are started (`MariaDB`, `Memcached`, `RedisServer`) are this one: `redis-trixie`."""
    with mock.patch.dict(os.environ, PATH=f"{unpacked(name)}{os.pathsep}{os.environ['PATH']}"):
        yield
