"""mysqlclient against a real MariaDB."""

from __future__ import annotations

from typing import Any

import MySQLdb
import MySQLdb.cursors

from tests.sdk.mysql_matrix import Matrix


class TestMySQLclient(Matrix):
    library = "mysqlclient"
    errors = MySQLdb.Error
    sent_by_the_driver = frozenset({"SET NAMES utf8mb4", "SET autocommit=0", "COMMIT", "ROLLBACK"})

    def open(self, **account: Any) -> Any:
        return MySQLdb.connect(**account)

    def unbuffered(self, connection: Any) -> Any:
        return connection.cursor(MySQLdb.cursors.SSCursor)
