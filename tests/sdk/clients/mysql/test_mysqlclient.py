"""mysqlclient against a real MariaDB."""

from __future__ import annotations

from typing import Any

import MySQLdb
import MySQLdb.cursors
import walltime

from tests.sdk.clients.mysql.mysql_matrix import Matrix
from tests.sdk.clients.mysql.mysql_server import Server
from tests.sdk.sink import Sink


class TestMySQLclient(Matrix):
    library = "mysqlclient"
    errors = MySQLdb.Error
    sent_by_the_driver = frozenset({"SET NAMES utf8mb4", "SET autocommit=0", "COMMIT", "ROLLBACK"})

    def open(self, **account: Any) -> Any:
        return MySQLdb.connect(**account)

    def unbuffered(self, connection: Any) -> Any:
        return connection.cursor(MySQLdb.cursors.SSCursor)

    def test_updates_that_executemany_sends_in_one_text_are_a_query_and_what_is_fetched_after_it(
        self, recorded: Sink, server: Server
    ) -> None:
        connection = self.connect(server, executemany_fallback="multi")
        before = server.statements()
        with walltime.transaction("job"):
            cursor = connection.cursor()
            cursor.executemany("UPDATE fruit SET name = %s WHERE id = %s", [("a", 1), ("b", 2), ("c", 3)])
            assert cursor.rowcount == 3
        assert server.statements() - before - 1 == 3
        bill = recorded.transaction()
        assert bill.cell("mysql.query") == {"calls": 1, "rows": 1}
        assert bill.cell("mysql.fetch") == {"calls": 2, "rows": 2}
        assert bill.statements() == {"UPDATE fruit SET name = %s WHERE id = %s": 1}

    def test_own_statements_are_counted_when_they_are_sent(self, recorded: Sink, server: Server) -> None:
        connection = self.connect(server)
        before = server.statements()
        with walltime.transaction("job"):
            connection.begin()
            connection.set_character_set("utf8mb4", "utf8mb4_general_ci")
            connection.autocommit(True)
            connection.autocommit(True)  # says nothing new, so nothing is sent
            connection.select_db("shop")
            connection.query("SELECT 'no cursor'")
            connection.store_result()
        assert server.statements() - before - 1 == 6
        assert recorded.transaction().cell("mysql.query") == {"calls": 6}
