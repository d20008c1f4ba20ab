"""Databases that cannot be asked: a clear line in the log and on the status, the others go on, nothing is lost."""

from __future__ import annotations

import itertools
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from shop.services import LOOPBACK, MariaDB, free_port

from tests.collector.observe.unreachable import (
    everything_written,
    is_healthy,
    rows,
    said,
    silent,
    stranger,
    wait_for_each,
)
from tests.mysql_server import MysqlServer
from tests.server_folder import server_folder
from tests.servers import Collector, eventually

WRONG: Final = "wr0ng-pa55word-Zx"
BAD: Final = {
    "denied": "Access denied|password",
    "rightless": "GRANT ",
    "schemaless": r"performance_schema\s*=\s*ON",
    "silent": "did not answer|timed out|no answer",
    "closed": "refused",
    "stranger": "is not|no MySQL|protocol|closed",
}
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with server_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def mysql(folder: Path) -> Iterator[MysqlServer]:
    with MysqlServer(folder / "mysql", performance_schema_consumer_events_statements_history_long="ON") as server:
        with server.admin() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE USER nobody@'{LOOPBACK}' IDENTIFIED BY '{server.admin_password}'")
            cursor.execute("CREATE TABLE numbers (number INT PRIMARY KEY)")
        yield server


@pytest.fixture(scope="module")
def collector(folder: Path, mysql: MysqlServer) -> Iterator[Collector]:
    """It asks one good server, and all the bad ones."""
    (folder / "wrong").write_text(WRONG)
    (folder / "schemaless_password").touch(mode=0o600)
    with (
        silent() as silent_address,
        stranger(b"SSH-2.0-OpenSSH_9.2p1\r\n") as stranger_address,
        MariaDB(folder / "mariadb", "schemaless") as schemaless,
    ):
        (folder / "schemaless_password").write_text(schemaless.admin_password)
        addresses = {
            "good": f"admin@{mysql.address}",
            "denied": f"admin@{mysql.address}?password_file={folder / 'wrong'}",
            "rightless": f"nobody@{mysql.address}",
            "schemaless": f"admin@{schemaless.address}?password_file={folder / 'schemaless_password'}",
            "silent": f"admin@{silent_address}",
            "closed": f"admin@{LOOPBACK}:{free_port()}",
            "stranger": f"admin@{stranger_address}",
        }
        with Collector(folder / "data", mysql=settings(addresses), mysql_password=mysql.admin_password) as running:
            wait_for_each(running, addresses)
            yield running


def settings(addresses: dict[str, str]) -> str:
    return ",".join(f"{name}=mysql://{address}" for name, address in addresses.items())


def execute(mysql: MysqlServer, times: int = 5) -> set[str]:
    """Run statements that nobody else runs; returns what is stored of them."""
    columns = [f"column_{next(_numbers)}" for _ in range(times)]
    with mysql.admin() as connection, connection.cursor() as cursor:
        for column in columns:
            cursor.execute(f"SELECT number AS {column} FROM numbers WHERE number = 4711")
    return set(columns)


def stored(collector: Collector, server: str = "good") -> list[str]:
    """Those columns, once for each row."""
    found = rows(collector, f"SELECT sql FROM slow_queries WHERE server = '{server}'")
    return [column for (text,) in found for column in re.findall(r"column_\d+", str(text))]


def wait_for(collector: Collector, columns: set[str]) -> None:
    """Each is stored, and once."""
    eventually(lambda: columns <= {*stored(collector)})
    assert all(stored(collector).count(column) == 1 for column in columns)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_server_has_a_clear_line_in_the_log_and_on_the_status(collector: Collector, name: str) -> None:
    error, lacks = said(collector)[name]
    assert re.search(BAD[name], error or lacks), (error, lacks)
    assert any(name in line and re.search(BAD[name], line) for line in collector.log().splitlines()), collector.log()


def test_the_others_are_asked_meanwhile(collector: Collector, mysql: MysqlServer) -> None:
    wait_for(collector, execute(mysql))
    assert said(collector)["good"][0] == ""
    assert is_healthy(collector)


def test_no_password_and_no_value_is_anywhere(collector: Collector, mysql: MysqlServer) -> None:
    wait_for(collector, execute(mysql))
    for where, content in everything_written(collector):
        for secret in (WRONG, mysql.admin_password, "4711"):
            assert secret.encode() not in content, where


def test_what_a_server_does_while_it_is_frozen_or_the_collector_cannot_ask_is_stored_once(
    collector: Collector, mysql: MysqlServer
) -> None:
    before = execute(mysql)
    os.kill(mysql.pid, signal.SIGSTOP)
    try:
        eventually(lambda: said(collector)["good"][0])
        assert is_healthy(collector)
    finally:
        os.kill(mysql.pid, signal.SIGCONT)
    wait_for(collector, before | execute(mysql))
    eventually(lambda: not said(collector)["good"][0])


def test_a_password_that_is_corrected_on_the_server_is_enough(collector: Collector, mysql: MysqlServer) -> None:
    with mysql.admin() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE USER later@'{LOOPBACK}' IDENTIFIED BY '{WRONG}'")


def test_a_server_that_dies_and_comes_back_is_asked_again(collector: Collector, mysql: MysqlServer) -> None:
    wait_for(collector, execute(mysql))
    mysql.kill()
    eventually(lambda: said(collector)["good"][0])
    mysql.start()
    eventually(lambda: not said(collector)["good"][0])
    wait_for(collector, execute(mysql))


def test_another_server_behind_the_same_name(collector: Collector, mysql: MysqlServer, folder: Path) -> None:
    wait_for(collector, execute(mysql))
    mysql.stop()
    other = MysqlServer(folder / "other", performance_schema_consumer_events_statements_history_long="ON")
    other.port, other.admin_password = mysql.port, mysql.admin_password
    with other:
        with other.admin() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE numbers (number INT PRIMARY KEY)")
        eventually(lambda: not said(collector)["good"][0])
        wait_for(collector, execute(other))
