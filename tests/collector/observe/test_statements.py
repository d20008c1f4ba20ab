"""Statements of real servers from performance_schema: each once, complete, redacted; what is overwritten is counted."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.cursors import Cursor
from shop.services import LOOPBACK, MariaDB
from walltime_collector.observe.look import Lacking

from tests.collector.observe.reader import Reader, rows
from tests.mysql_server import kind_of
from tests.server_folder import server_folder
from tests.unpacked import OTHER_MARIADB

RING = 200
OPTIONS: Any = {
    "performance_schema": "ON",
    "performance_schema_events_statements_history_long_size": str(RING),
    "performance_schema_consumer_events_statements_history_long": "ON",
    "performance_schema_consumer_events_statements_current": "ON",
}
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
TRACED = f"/*traceparent='00-{TRACE_ID}-b7ad6b7169203331-01'*/"


@pytest.fixture(scope="module", params=["mysql", "mariadb", *OTHER_MARIADB])
def server(request: pytest.FixtureRequest) -> Iterator[MariaDB]:
    with server_folder() as folder, kind_of(request.param) as kind, kind(folder, **OPTIONS) as server:
        with server.admin() as admin, admin.cursor() as cursor:
            cursor.execute(f"USE {server.database}")
            cursor.execute("CREATE TABLE numbers (number INT PRIMARY KEY, name VARCHAR(20))")
            cursor.executemany("INSERT INTO numbers VALUES (%s, 'secret')", [(at,) for at in range(50)])
            cursor.execute("CREATE PROCEDURE twice() BEGIN DELETE FROM numbers WHERE number = 999; SELECT 1; END")
        yield server


@pytest.fixture(autouse=True)
def empty_ring(server: MariaDB) -> Iterator[None]:
    """Nothing of the tests before; its connection ends after the test, so that it adds nothing."""
    with server.admin() as admin, admin.cursor() as cursor:
        cursor.execute("TRUNCATE performance_schema.events_statements_history_long")
        yield


@pytest.fixture
def application(server: MariaDB) -> Iterator[pymysql.Connection[Cursor]]:
    with pymysql.connect(**server.account(), autocommit=True) as connection:
        yield connection


def run(connection: pymysql.Connection[Cursor], *statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            while cursor.nextset():
                pass


def sent(rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that the tests sent, by their column's name."""
    return [row for row in rows if "column_" in row["sample"]]


def columns(count: int, name: str = "") -> list[str]:
    return [f"SELECT {at} AS column_{name}{at}" for at in range(count)]


def named(rows: list[Mapping[str, Any]]) -> Counter[str]:
    return Counter(row["sample"].partition(" AS ")[2] for row in sent(rows))


def test_under_load_each_statement_is_read_once_or_counted(server: MariaDB, tmp_path: Path) -> None:
    reader = Reader(server, tmp_path)
    reader.look()
    is_over = threading.Event()

    def work(name: str) -> None:
        with pymysql.connect(**server.account(), autocommit=True) as connection:
            run(connection, *columns(1500, f"{name}_"))

    threads = [threading.Thread(target=work, args=[f"{name}"]) for name in "ab"]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        reader.look()
        is_over.wait(0.01)
    reader.look()
    reader.look()
    read = named(rows(tmp_path))
    assert set(read.values()) == {1}
    others = 2 * 2  # SET NAMES and Quit of each connection
    assert 3000 - len(read) <= reader.lost <= 3000 - len(read) + others


def test_what_was_overwritten_is_counted_exactly(
    server: MariaDB, application: pymysql.Connection[Cursor], tmp_path: Path
) -> None:
    reader = Reader(server, tmp_path)
    reader.look()
    reader.look()
    run(application, *columns(500))
    reader.look()
    reader.look()
    assert len(named(rows(tmp_path))) + reader.lost == 500
    assert reader.lost >= 500 - RING
    (event,) = reader.events.rows
    assert (event["event"], event["number"]) == ("lost", reader.lost)


def test_another_collector_goes_on_where_this_one_was_killed(
    server: MariaDB, application: pymysql.Connection[Cursor], tmp_path: Path
) -> None:
    reader = Reader(server, tmp_path)
    run(application, *columns(20, "written"))
    reader.look()
    run(application, *columns(20, "in_memory"))
    reader.look_only()  # and then it is killed
    run(application, *columns(20, "meanwhile"))
    again = Reader(server, tmp_path)
    again.look()
    run(application, *columns(20, "after"))
    again.look()
    again.look()
    read = named(rows(tmp_path))
    assert set(read.values()) == {1}
    assert len(read) == 80
    assert again.lost == 0
    run(application, *columns(400, "lost"))
    third = Reader(server, tmp_path)
    third.look()
    third.look()
    assert 480 <= len(named(rows(tmp_path))) + third.lost <= 482  # the second one's last look was overwritten as well


def test_a_row_has_what_a_slow_log_has_and_no_value(
    server: MariaDB, application: pymysql.Connection[Cursor], tmp_path: Path
) -> None:
    reader = Reader(server, tmp_path)
    reader.look()
    began_us = time.time_ns() // 1000
    run(application, f"SELECT COUNT(*), SLEEP(0.05) FROM numbers WHERE name = 'secret' {TRACED}")
    run(application, "SELECT name, COUNT(*) AS many FROM numbers GROUP BY name ORDER BY many")
    with pytest.raises(pymysql.MySQLError):
        run(application, "SELECT * FROM nowhere WHERE name = 'secret'")
    run(application, "CALL twice()")
    run(application, f"SELECT '{'secret' * 300}' {TRACED}")
    ended_us = time.time_ns() // 1000
    reader.look()
    assert "secret" not in str(rows(tmp_path))
    mine = application.thread_id()  # type: ignore[no-untyped-call]
    found = [row for row in rows(tmp_path) if row["connection_id"] == mine]
    scanned, grouped, failed, called, cut = found[-5:]
    assert scanned["sample"] == "SELECT COUNT(*), SLEEP(?) FROM numbers WHERE name = ?"
    assert (scanned["trace_id"], scanned["source"], scanned["server"]) == (TRACE_ID, "performance_schema", "db:3306")
    assert (scanned["rows_sent"], scanned["is_full_scan"], scanned["errno"]) == (1, True, 0)
    assert 50_000_000 <= scanned["query_ns"] <= (ended_us - began_us) * 1000
    assert began_us - 1000 <= scanned["started_us"] <= ended_us - 50_000
    assert (scanned["user"], scanned["client_host"]) == (server.user, LOOPBACK)
    assert scanned["database"] == server.database
    assert grouped["is_tmp_table"]
    assert grouped["is_filesort"]
    assert failed["errno"] == 1146
    assert called["sample"] == "CALL twice()"  # and nothing of what it ran
    assert called["trace_id"] == ""
    assert cut["trace_id"] == ""  # its comment is behind the end
    assert "cut" in cut["fields"]


def test_a_server_that_was_restarted_begins_anew(server: MariaDB, tmp_path: Path) -> None:
    with pymysql.connect(**server.account(), autocommit=True) as connection:
        run(connection, *columns(10, "before"))
    Reader(server, tmp_path).look()
    server.stop()
    server.start()
    with pymysql.connect(**server.account(), autocommit=True) as connection:
        run(connection, *columns(10, "since"))
    reader = Reader(server, tmp_path)
    reader.look()
    reader.look()
    read = named(rows(tmp_path))
    assert (len(read), set(read.values()), reader.lost) == (20, {1}, 0)


def test_an_account_without_rights_is_told_the_grant(server: MariaDB, tmp_path: Path) -> None:
    grant = f"GRANT SELECT ON performance_schema.* TO '{server.user}'@'{LOOPBACK}'"
    with pytest.raises(Lacking) as lacking:
        Reader(server, tmp_path, user=server.user, password=server.password)
    assert str(lacking.value).endswith(grant)
    with server.admin() as admin, admin.cursor() as cursor:
        cursor.execute(grant)
    Reader(server, tmp_path, user=server.user, password=server.password).look()


def test_what_is_off_is_said_with_its_statement_and_switched_on_when_that_is_allowed(
    server: MariaDB, application: pymysql.Connection[Cursor], tmp_path: Path
) -> None:
    with server.admin() as admin, admin.cursor() as cursor:
        cursor.execute(
            "UPDATE performance_schema.setup_consumers SET enabled = 'NO' WHERE name LIKE 'events_statements_history%'"
        )
        with pytest.raises(Lacking) as lacking:
            Reader(server, tmp_path)
        statement = str(lacking.value).partition("to switch it on: ")[2].partition(";")[0]
        assert statement.startswith("UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name IN (")
        cursor.execute(
            "UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name = 'events_statements_history'"
        )
        reader = Reader(server, tmp_path)
        assert statement in reader.lacks
        run(application, *columns(5, "few"))
        reader.look()
        assert len(named(rows(tmp_path))) == 5
        assert Reader(server, tmp_path, may_set_up=True).lacks == ""
        cursor.execute("SELECT name FROM performance_schema.setup_consumers WHERE enabled = 'YES'")
        assert ("events_statements_history_long",) in cursor.fetchall()
