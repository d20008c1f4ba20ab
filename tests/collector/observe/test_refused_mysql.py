"""Databases that cannot be asked: a clear line in the log and on the status, the others go on, nothing is lost."""

from __future__ import annotations

import itertools
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import pytest
from shop.services import LOOPBACK, MariaDB, free_port

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
from tests.mysql_server import MysqlServer
from tests.server_folder import server_folder
from tests.servers import Collector, eventually
from tests.unpacked import MARIADB, preferred

WRONG: Final = "wr0ng-pa55word-Zx"
VALUE: Final = "470815111"
BAD: Final = {
    "denied": "refuses the account",
    "rightless": "GRANT ",
    "schemaless": r"performance_schema\s*=\s*ON",
    "silent": "did not answer",
    "closed": "connection refused",
    "stranger": "is not|no MySQL|protocol|closed",
}
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def folder(kind: str) -> Iterator[Path]:
    with server_folder() as folder:
        yield folder


def new(kind: str, folder: Path) -> MariaDB:
    """A server with all that the collector wants."""
    if kind == "mysql-sid":
        return MysqlServer(
            folder,
            performance_schema_consumer_events_statements_history_long="ON",
            performance_schema_consumer_events_statements_cpu="ON",
        )
    return MariaDB(
        folder,
        performance_schema="ON",
        performance_schema_consumer_events_statements_current="ON",
        performance_schema_consumer_events_statements_history="ON",
        performance_schema_consumer_events_transactions_current="ON",
        performance_schema_consumer_events_statements_history_long="ON",
    )


def create(server: MariaDB) -> None:
    """The table of the statements, and an account without rights."""
    with server.admin() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE USER nobody@'{LOOPBACK}' IDENTIFIED BY '{server.admin_password}'")
        cursor.execute("CREATE TABLE numbers (number INT PRIMARY KEY)")


@pytest.fixture(
    scope="module",
    params=["mysql-sid", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("mariadb", *MARIADB))],
)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    with nullcontext() if request.param in ("mysql-sid", "mariadb") else preferred(request.param):
        yield request.param


@pytest.fixture(scope="module")
def mysql(kind: str, folder: Path) -> Iterator[MariaDB]:
    with new(kind, folder / "mysql") as server:
        create(server)
        yield server


@pytest.fixture(scope="module")
def collector(folder: Path, mysql: MariaDB) -> Iterator[Collector]:
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


def execute(mysql: MariaDB, times: int = 5) -> set[str]:
    """Run statements that nobody else runs; returns the names in them."""
    columns = {f"column_{next(_numbers)}" for _ in range(times)}
    with mysql.admin() as connection, connection.cursor() as cursor:
        for column in columns:
            cursor.execute(f"SELECT number AS {column} FROM numbers WHERE number = {VALUE}")
    return columns


def wait_for(collector: Collector, columns: set[str]) -> None:
    """Each is stored, and once."""

    def stored() -> list[str]:
        found = rows(collector, "SELECT sample FROM slow_queries WHERE server = 'good' AND sample LIKE '%column_%'")
        return [column for (text,) in found for column in re.findall(r"column_\d+", str(text))]

    time.sleep(4)  # at least so long it takes, and a question takes CPU
    eventually(lambda: columns <= {*stored()})
    assert all(stored().count(column) == 1 for column in columns)


def events(collector: Collector) -> list[object]:
    """What happened to the good server."""
    found = rows(collector, "SELECT event FROM server_events FINAL WHERE server = 'good' ORDER BY at")
    return [event for (event,) in found if event in ("restarted", "replaced")]


@pytest.mark.parametrize("name", BAD)
def test_a_bad_server_has_a_clear_line_in_the_log_and_on_the_status(collector: Collector, name: str) -> None:
    error, lacks = said(collector)[name]
    assert re.search(BAD[name], error or lacks), (error, lacks)
    assert any(name in line and re.search(BAD[name], line) for line in collector.log().splitlines()), collector.log()


def test_the_others_are_asked_meanwhile(collector: Collector, mysql: MariaDB) -> None:
    wait_for(collector, execute(mysql))
    assert said(collector)["good"][0] == ""
    assert is_healthy(collector)


def test_what_the_log_says_is_enough_to_mend_it(collector: Collector, mysql: MariaDB) -> None:
    grants = re.findall(r"GRANT [^;\"]+? TO '\w+'@'[\w.]+'", collector.log())
    assert {account.rpartition(" ")[2] for account in grants} == {f"'nobody'@'{LOOPBACK}'"}
    lines = Lines(collector, "rightless")
    with mysql.admin() as connection, connection.cursor() as cursor:
        for grant in grants:
            cursor.execute(grant)
        cursor.execute("SELECT ID FROM information_schema.processlist WHERE USER = 'nobody'")
        for (connection_id,) in cursor.fetchall():  # otherwise it takes a minute
            cursor.execute("KILL %s", (connection_id,))
    lines.wait_for("is observed")
    error, lacks = said(collector)["rightless"]
    assert not error
    assert "GRANT" not in lacks


def test_no_password_and_no_value_is_anywhere(collector: Collector, mysql: MariaDB) -> None:
    wait_for(collector, execute(mysql))
    for where, content in everything_written(collector):
        for secret in (WRONG, mysql.admin_password, VALUE):
            assert secret.encode() not in content, where


@pytest.mark.nightly
def test_what_is_run_before_and_after_a_server_was_frozen_is_stored_once(collector: Collector, mysql: MariaDB) -> None:
    before, lines = execute(mysql), Lines(collector, "good")
    os.kill(mysql.pid, signal.SIGSTOP)
    try:
        lines.wait_for("did not answer")
        assert is_healthy(collector)
    finally:
        os.kill(mysql.pid, signal.SIGCONT)
    lines.wait_for("is observed")
    wait_for(collector, before | execute(mysql))


@pytest.mark.nightly
def test_a_server_that_dies_and_another_one_behind_its_name_are_asked_again(
    collector: Collector, mysql: MariaDB, kind: str, folder: Path
) -> None:
    wait_for(collector, execute(mysql))
    lines = Lines(collector, "good")
    mysql.kill()
    lines.wait_for("closed|refused")
    mysql.start()
    lines.wait_for("is observed")
    wait_for(collector, execute(mysql))
    assert events(collector) == ["restarted"]

    mysql.stop()
    lines.wait_for("closed|shuts down|refused")
    other = new(kind, folder / "other")
    other.port, other.admin_password = mysql.port, mysql.admin_password
    with other:
        create(other)
        lines.wait_for("is observed")
        wait_for(collector, execute(other))
    # MariaDB's server_uid is of its machine and port
    assert events(collector) == ["restarted", "replaced" if isinstance(mysql, MysqlServer) else "restarted"]
