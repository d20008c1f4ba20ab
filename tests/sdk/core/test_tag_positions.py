"""
Where a comment must not go: into a line comment, which ends the statement, and into what the server stores.

On real servers: what is stored is as it was written, and the slow log names the request of every statement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import aiomysql
import asyncmy
import mysql.connector
import MySQLdb
import pymysql
import pytest
import walltime
from shop.services import MariaDB
from walltime.core.ids import Ids
from walltime.core.sql_comment import tag
from walltime.core.transaction import Transaction
from walltime.settings.settings import Settings
from walltime_collector.observe.slowlog.parser import Parser
from walltime_collector.statements.comment import sender

from tests.sdk.sink import Sink
from tests.server_folder import server_folder
from tests.servers import eventually

TRACEPARENT = "traceparent='00-0000000000000000000000000000000a-000000000000000b-03'"
COMMENT = f" /*route='%2Fp%2F%7Bid%7D',{TRACEPARENT}*/"


@pytest.fixture
def transaction() -> Transaction:
    transaction = Transaction("GET /p/{id}", "server", Ids(10, 11, 3), 0, 0)
    transaction.method = "GET"
    return transaction


LINE_COMMENTS = (
    "SELECT 1 -- report of today", "SELECT 1 # x", "SELECT 1 #", "SELECT 1 --", "SELECT 1 --\tx", "SELECT 1; -- x",
    "SELECT 1 -- x\n", "SELECT 1 --\r\n", "SELECT 1 -- x;", "SELECT 1 -- don't; # why\n ;", "SELECT 1 -- re-port",
    "SELECT 1 /*! + 1 -- x */", "SELECT 1 -- /* x */", "SELECT 1 /* a */ # b", "SELECT 1\n-- end", "SELECT '\n' -- x",
    "-- first\nSELECT 1 -- last", "SELECT 1 -- 2 --x", "SELECT 1 --\x00x",
)  # fmt: skip
NO_LINE_COMMENTS = (
    "-- report of today\nSELECT 1", "# x\nSELECT 1", "SELECT 1 -- x\n, 2", "SELECT 1 - 2", "SELECT '2026-11-25'",
    "SELECT '#\n'", "SELECT '--\n'", "SELECT a->'$.b'", "SELECT 1 # x\n, 2",
)  # fmt: skip


@pytest.mark.parametrize("sql", LINE_COMMENTS)
def test_a_line_comment_at_the_end_does_not_contain_it(transaction: Transaction, sql: str) -> None:
    for sent in (sql, sql.encode(), bytearray(sql.encode())):
        tagged: Any = tag(transaction, sent)  # type: ignore[type-var]  # of each type
        text = tagged if isinstance(tagged, str) else tagged.decode()
        assert TRACEPARENT in text
        assert text.replace(COMMENT[1:], "", 1).strip() == sql.strip(), "the statement is as it was"
        assert sender(text).trace_id == f"{10:032x}"


@pytest.mark.parametrize("sql", NO_LINE_COMMENTS)
def test_what_is_no_line_comment_at_the_end_changes_nothing(transaction: Transaction, sql: str) -> None:
    assert tag(transaction, sql) == f"{sql}{COMMENT}"
    assert tag(transaction, sql.encode()) == f"{sql}{COMMENT}".encode()


@pytest.mark.parametrize("sql", ["SELECT '--'", "SELECT '#fff'", "SELECT 1 --x", "SELECT `a#b` FROM t"])
def test_what_may_be_a_line_comment_gets_it_in_front(transaction: Transaction, sql: str) -> None:
    """Only a lexer could tell, and no statement waits for one."""
    assert tag(transaction, sql) == f"{COMMENT[1:]} {sql}"


STORED = (
    "CREATE PROCEDURE p() SELECT 1",
    "create function f() returns int return 1",
    "CREATE OR REPLACE VIEW v AS SELECT 1",
    "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1",
    "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DO 1",
    "CREATE DEFINER=`a`@`%` PROCEDURE p() BEGIN SELECT 1; END",
    "CREATE DEFINER = CURRENT_USER TRIGGER g AFTER DELETE…",
    "\n\t CREATE\n OR\tREPLACE /* x */ DEFINER=CURRENT_ROLE FUNCTION f() RETURNS INT RETURN 1",
    " Alter View v AS SELECT 2",
    "/* mine */ -- yours\n # theirs\nCREATE VIEW v AS SELECT 1",
    "ALTER EVENT e DO SELECT 2",
    "ALTER PROCEDURE p COMMENT 'x'",
    "/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`%`*/ /*!50003 TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1 */",
    "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`a`@`%` SQL SECURITY DEFINER */\n"
    "/*!50001 VIEW v AS SELECT 1 */",
    "/*M!100301 CREATE */ PACKAGE p AS FUNCTION f RETURN INT; END",
    "CREATE SQL SECURITY INVOKER VIEW v AS SELECT 1",
    "CREATE AGGREGATE FUNCTION f RETURNS STRING SONAME 'f.so'",
    "--\nCREATE VIEW v AS SELECT 1",
    "CREATE/**/VIEW v AS SELECT 1",
    "CREATE PROCEDURE p() BEGIN " + "SELECT 1; " * 500 + "END",
    " CREATE VIEW v AS SELECT 1 -- x",
    "CREATE PACKAGE BODY p AS END",
)


@pytest.mark.parametrize("sql", STORED)
@pytest.mark.parametrize("position", ["append", "prepend"])
def test_what_the_server_stores_with_its_text_is_not_tagged(transaction: Transaction, sql: str, position: str) -> None:
    transaction.settings = Settings(sql_comment_position=position)
    assert tag(transaction, sql) == sql
    assert tag(transaction, sql.encode()) == sql.encode()


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (a INT, view INT, event INT)",
        "ALTER TABLE t ADD COLUMN trigger_id INT",
        "CREATE INDEX i ON t (a)",
        "CREATE DATABASE views",
        "CREATE TEMPORARY TABLE t AS SELECT 1",
        "CREATE OR REPLACE TABLE t (a INT)",
        "CREATE UNIQUE INDEX i ON t (a)",
        "ALTER USER a IDENTIFIED BY 'x'",
        "CALL create_view()",
        "CREATE SEQUENCE s",
        "SHOW CREATE VIEW v",
        "SELECT 'CREATE VIEW v AS SELECT 1'",
        "DROP VIEW v",
        "SELECT 1; SELECT 2",
        "CREATE",
        "ALTER",
    ],
)
def test_other_definitions_are(transaction: Transaction, sql: str) -> None:
    assert tag(transaction, sql) == f"{sql}{COMMENT}"
    assert tag(transaction, sql.encode()) == f"{sql}{COMMENT}".encode()


@pytest.mark.parametrize("last", STORED[:6])
def test_a_stored_definition_behind_other_statements_leaves_it_to_the_first(
    transaction: Transaction, last: str
) -> None:
    sql = f"DROP VIEW IF EXISTS v; {last}"
    assert tag(transaction, sql) == f"{COMMENT[1:]} {sql}"


# ---- on a real server, by every driver ----


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDB]:
    with server_folder() as folder, MariaDB(folder, slow_log_s=0.0) as server:
        with server.admin() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {server.database}.t (a INT)")
            cursor.execute("SET GLOBAL event_scheduler = ON")  # without it, aiomysql warns
            cursor.execute(f"GRANT SUPER ON *.* TO {server.user}@'127.0.0.1'")
        yield server


def sent_by_mysqlclient(account: dict[str, Any], statements: list[str]) -> None:
    account = {("passwd" if key == "password" else "db" if key == "database" else key): account[key] for key in account}
    account.pop("ssl_disabled", None)
    blocking(MySQLdb.connect(**account), statements)


def sent_by_connector(account: dict[str, Any], statements: list[str], **options: Any) -> None:
    known = {key: account[key] for key in ("host", "port", "user", "password", "database")}
    blocking(mysql.connector.connect(**known, ssl_disabled=True, **options), statements)


def blocking(connection: Any, statements: list[str]) -> None:
    try:
        for sql in statements:
            cursor = connection.cursor()
            cursor.execute(sql)
            if cursor.description:
                cursor.fetchall()
    finally:
        connection.close()


def sent_by_asyncio(connect: Callable[..., Any]) -> Callable[[dict[str, Any], list[str]], None]:
    async def send(account: dict[str, Any], statements: list[str]) -> None:
        known = {key: account[key] for key in ("host", "port", "user", "password")}
        connection = await connect(db=account["database"], **known)
        try:
            for sql in statements:
                async with connection.cursor() as cursor:
                    await cursor.execute(sql)
        finally:
            await connection.ensure_closed()

    return lambda account, statements: asyncio.run(send(account, statements))


DRIVERS: dict[str, Callable[[dict[str, Any], list[str]], None]] = {
    "pymysql": lambda account, statements: blocking(pymysql.connect(**account), statements),
    "mysqlclient": sent_by_mysqlclient,
    "connector": lambda account, statements: sent_by_connector(account, statements, use_pure=True),
    "aiomysql": sent_by_asyncio(aiomysql.connect),
    "asyncmy": sent_by_asyncio(asyncmy.connect),
}
OBJECTS = {
    "PROCEDURE p": "CREATE PROCEDURE p() SELECT 'of the application'",
    "FUNCTION f": "/* mine */ CREATE OR REPLACE FUNCTION f() RETURNS INT RETURN 1",
    "TRIGGER g": "/*!50003 CREATE */ TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1",
    "EVENT e": "  create event e ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01 00:00:00' DO SELECT 1",
    "VIEW v": "CREATE DEFINER=CURRENT_USER VIEW v AS SELECT 1 AS x -- of the application",
}


def stored(server: MariaDB) -> dict[str, Any]:
    """What the server has stored, without the moment it was made; dropped afterwards."""
    found: dict[str, Any] = {}
    with server.admin() as connection, connection.cursor() as cursor:
        cursor.execute(f"USE {server.database}")
        for each in OBJECTS:
            cursor.execute(f"SHOW CREATE {each}")
            found[each] = cursor.fetchall()[0][:6]
            cursor.execute(f"DROP {each}")
    return found


@pytest.mark.parametrize("driver", DRIVERS)
def test_what_a_server_stores_is_as_the_application_wrote_it(recorded: Sink, server: MariaDB, driver: str) -> None:
    send = DRIVERS[driver]
    send(server.account(), list(OBJECTS.values()))
    expected = stored(server)
    with walltime.transaction("migration"):
        send(server.account(), list(OBJECTS.values()))
    assert stored(server) == expected
    assert "traceparent" not in str(expected)
    assert sum(recorded.transaction().statements().values()) >= len(OBJECTS)


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_slow_log_names_the_request_of_a_statement_with_a_line_comment(
    recorded: Sink, server: MariaDB, driver: str
) -> None:
    assert server.slow_log is not None
    at = server.slow_log.stat().st_size
    sent = [f"SELECT {number} AS {driver.replace(' ', '_')}, {sql[7:]}" for number, sql in enumerate(READ)]
    requests = []
    for sql in sent:
        with walltime.transaction("job") as request:
            requests.append(request.request_id)
            DRIVERS[driver](server.account(), [sql])
    DRIVERS[driver](server.account(), ["SELECT 'the last'"])
    log = server.slow_log
    eventually(
        lambda: all(
            token in log.read_bytes()[at:]
            for token in (b"the last", *(f"SELECT {n} AS".encode() for n in range(len(sent))))
        )
    )
    parser = Parser()
    entries = parser.feed(server.slow_log.read_bytes()[at:]) + parser.finish()
    found = [entry.statement for entry in entries if f"AS {driver.replace(' ', '_')}," in entry.statement]
    # A server answers before it writes the entry: entries of two connections can change places.
    found.sort(key=lambda statement: int(statement.split("SELECT ")[1].split(" ")[0]))
    assert [sender(each).trace_id for each in found] == requests
    assert len(found) == len(sent), "each is an entry of its own"


READ = (
    "SELECT 1 -- report of today", "SELECT 1 # x", "SELECT 1 #", "SELECT 1 --", "SELECT 1 -- x\n", "SELECT 1 --\r\n",
    "SELECT '--'", "SELECT '#'", "SELECT 1 -- don't", "SELECT 1 /* a */ # b", "SELECT '2026-11-25'", "SELECT 2 - -1",
    "SELECT 1\n-- end", "SELECT 1 -- a\n+ 1",
)  # fmt: skip
