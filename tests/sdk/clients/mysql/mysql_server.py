"""What the tests of MySQL's drivers ask the server itself: its counters, its log, a lock that somebody holds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import Context
from typing import Any

from pymysql.connections import Connection
from shop.services import MariaDB

from tests.servers import eventually

TABLE = """
    SET lock_wait_timeout = 10;
    DROP TABLE IF EXISTS fruit;
    CREATE TABLE fruit (id INT PRIMARY KEY, name VARCHAR(40)) ENGINE=InnoDB;
    INSERT INTO fruit VALUES (1, 'apple'), (2, 'pear'), (3, 'plum');
    DROP PROCEDURE IF EXISTS double_it;
    CREATE PROCEDURE double_it(IN n INT) SELECT 2 * n
"""


class Server:
    """A connection that may do everything, open before the test counts anything; Walltime never sees what it does."""

    def __init__(self, mariadb: MariaDB) -> None:
        self.mariadb = mariadb
        self.account = mariadb.account()
        self.admin: Connection[Any] = mariadb.admin()
        self.opened: list[Any] = []
        for statement in TABLE.split(";"):
            self.admin.query(statement)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return list(Context().run(_rows, self.admin, sql))

    def statements(self) -> int:
        """How many statements all clients have sent so far, this one included."""
        ((_, count),) = self.rows("SHOW GLOBAL STATUS LIKE 'Questions'")
        return int(count)

    def logged(self, connection_id: int) -> list[str]:
        """What the connection sent, as the general log has it."""
        assert self.mariadb.general_log is not None
        lines = self.mariadb.general_log.read_text(errors="replace").splitlines()
        return [line.partition("Query\t")[2] for line in lines if f" {connection_id} Query\t" in line]

    @contextmanager
    def locked(self, row: int) -> Iterator[None]:
        """Somebody else holds the row meanwhile."""
        other = Context().run(_holding, self.mariadb, row)
        try:
            yield
        finally:
            other.close()

    @contextmanager
    def about_to_deadlock(self, mine: int, theirs: int) -> Iterator[None]:
        """
        Somebody else holds a row and waits for `mine`, which the caller holds: who now asks for `theirs` is the victim,
        because the other has changed more rows.
        """
        other = Context().run(
            _holding, self.mariadb, theirs, "INSERT INTO fruit SELECT 1000 + seq, '' FROM seq_1_to_50"
        )
        thread = threading.Thread(
            target=Context().run, args=(other.query, f"UPDATE fruit SET name = 'theirs' WHERE id = {mine}"), daemon=True
        )
        thread.start()
        waits = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'"
        eventually(lambda: self.rows(waits) == [("Innodb_row_lock_current_waits", "1")])
        try:
            yield
        finally:
            thread.join(10)
            other.close()

    def close(self) -> None:
        """Close what a test opened as well: a transaction that is left open holds its tables."""
        for connection in self.opened:
            with suppress(Exception):
                connection.close()
        self.admin.close()


def _rows(connection: Connection[Any], sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def _holding(mariadb: MariaDB, row: int, *more: str) -> Connection[Any]:
    """A connection in a transaction of the server's that holds the row."""
    connection = mariadb.admin()
    for statement in ("BEGIN", f"UPDATE fruit SET name = 'held' WHERE id = {row}", *more):
        connection.query(statement)
    return connection
