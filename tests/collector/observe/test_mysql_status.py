"""The load of real MySQL and MariaDB servers: their counters, their restarts, the limit of their connections."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator

import pymysql
import pytest
from shop.services import LOOPBACK, MariaDB
from walltime_collector.observe.address import Address
from walltime_collector.observe.mysql.connection import Connection, connect
from walltime_collector.observe.mysql.status import StatusLook
from walltime_collector.observe.writer import Row, Writer

from tests.mysql_server import kind_of
from tests.server_folder import server_folder
from tests.unpacked import OTHER_MARIADB


class Kept(Writer):
    """Keeps the rows instead of storing them."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Row]] = defaultdict(list)

    def add(self, table: str, rows: Iterable[Row]) -> None:
        self.rows[table] += rows


@pytest.fixture(scope="module", params=["mysql", "mariadb", *OTHER_MARIADB])
def server(request: pytest.FixtureRequest) -> Iterator[MariaDB]:
    with server_folder() as folder, kind_of(request.param) as kind, kind(folder) as server:
        with server.admin() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE shop.numbers (number INT PRIMARY KEY, text TEXT)")
        yield server


@contextlib.contextmanager
def asked(server: MariaDB) -> Iterator[Connection]:
    """The collector's connection."""
    connection = connect(Address("db", "mysql", LOOPBACK, server.port, "admin", server.admin_password))
    try:
        yield connection
    finally:
        connection.close()


def test_a_row_has_what_was_done_since_the_one_before(server: MariaDB) -> None:
    kept = Kept()
    look = StatusLook("db", kept)
    with asked(server) as asking, server.admin() as working, working.cursor() as cursor:
        assert look.opened(asking) == ""
        look.look(asking)
        began = time.monotonic_ns()
        cursor.executemany("INSERT INTO shop.numbers VALUES (%s, 'x')", [(number,) for number in range(300)])
        cursor.execute("UPDATE shop.numbers SET text = 'y' WHERE number < 200")
        for _ in range(50):
            cursor.execute("SELECT SUM(number) FROM shop.numbers")
        look.look(asking)
        passed_ns = time.monotonic_ns() - began
        (row,) = kept.rows["mysql_status"]
        assert row["server"] == "db"
        assert row["over_ns"] >= passed_ns * 0.9
        assert row["rows_changed"] == pytest.approx(500, abs=20)
        assert row["rows_read"] >= 50 * 300
        assert row["page_requests"] >= 50
        assert 50 <= row["queries"] <= 450
        assert row["max_connections"] == 200
        assert row["threads_connected"] >= 2
        assert row["history_list"] is not None
        assert row["replication_lag_s"] is None
        look.look(asking)
        assert kept.rows["mysql_status"][1]["rows_changed"] < 20  # what was counted is not counted again
    assert not kept.rows["server_events"]


def test_waits_for_row_locks_are_counted_with_their_time(server: MariaDB) -> None:
    kept = Kept()
    look = StatusLook("db", kept)
    with asked(server) as asking, server.admin() as holder, server.admin() as waiter:
        look.opened(asking)
        look.look(asking)
        with holder.cursor() as cursor:
            cursor.execute("INSERT IGNORE INTO shop.numbers VALUES (1000, 'x')")
            cursor.execute("BEGIN")
            cursor.execute("SELECT * FROM shop.numbers WHERE number = 1000 FOR UPDATE")
        with waiter.cursor() as cursor, contextlib.suppress(pymysql.err.OperationalError):
            cursor.execute("SET innodb_lock_wait_timeout = 1")
            cursor.execute("UPDATE shop.numbers SET text = 'z' WHERE number = 1000")
        holder.rollback()
        look.look(asking)
    (row,) = kept.rows["mysql_status"]
    assert row["row_lock_waits"] == 1
    assert row["row_lock_wait_ns"] >= 900_000_000


def test_clients_that_are_refused_are_an_event(server: MariaDB) -> None:
    kept = Kept()
    look = StatusLook("db", kept)
    with asked(server) as asking, server.admin() as administrator, contextlib.ExitStack() as opened:
        with administrator.cursor() as cursor:
            cursor.execute("SET GLOBAL max_connections = 10")
        look.opened(asking)
        look.look(asking)
        for _ in range(9):  # the last one takes the place that is kept for administrators
            opened.enter_context(server.admin())
        for _ in range(3):
            with pytest.raises(pymysql.err.OperationalError, match="1040"):
                pymysql.connect(**server.account())
        look.look(asking)
        with administrator.cursor() as cursor:
            cursor.execute("SET GLOBAL max_connections = 200")
    (event,) = kept.rows["server_events"]
    assert (event["event"], event["server"], event["number"]) == ("connection_limit", "db", 3)
    assert event["what"] == "db refused at least 3 clients: all 10 of max_connections were used"


def test_a_restart_and_another_server_are_events_and_a_lost_connection_is_none(server: MariaDB) -> None:
    kept = Kept()
    look = StatusLook("db", kept)
    for _ in range(2):
        with asked(server) as asking:
            look.opened(asking)
            look.look(asking)
    assert not kept.rows["server_events"]
    time.sleep(max(0.0, 2.0 - _uptime_s(server)))
    server.stop()
    server.start()
    with asked(server) as asking:
        look.opened(asking)
        look.look(asking)
    (event,) = kept.rows["server_events"]
    assert event["event"] == "restarted"
    assert abs(float(event["at"]) - time.time()) < 20
    assert "was restarted at" in event["what"]
    with server_folder() as folder, type(server)(folder) as other, asked(other) as asking:
        look.opened(asking)
        look.look(asking)
    assert [each["event"] for each in kept.rows["server_events"]] == ["restarted", "replaced"]


def _uptime_s(server: MariaDB) -> int:
    with server.admin() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Uptime'")
        return int(cursor.fetchall()[0][1])
