"""mysql-connector-python against a real MariaDB, its pure connection and, in a process of its own, its C connection."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import mysql.connector
import pytest
import walltime

from tests.sdk.clients.mysql.mysql_matrix import Matrix
from tests.sdk.clients.mysql.mysql_server import Server
from tests.sdk.sink import Sink

C_EXTENSION = "WALLTIME_TEST_C_EXTENSION" in os.environ


class TestMySQLConnector(Matrix):
    library = "mysql_connector"
    errors = mysql.connector.Error
    rows_are_fetched = True
    procedure = [  # noqa: RUF012
        "SET @_double_it_arg1=%s",
        "CALL double_it(@_double_it_arg1)",
        "SELECT @_double_it_arg1 AS double_it_arg1",
    ]
    sent_by_the_driver = frozenset({"set autocommit=0", "commit", "rollback"} if C_EXTENSION else ())

    def open(self, **account: Any) -> Any:
        # Without it the first statement with a parameter would ask the server for it.
        return mysql.connector.connect(use_pure=not C_EXTENSION, **{"sql_mode": "STRICT_ALL_TABLES", **account})

    def unbuffered(self, connection: Any) -> Any:
        return connection.cursor()

    def connection_id(self, connection: Any) -> int:
        return int(connection.connection_id)

    def result_of_procedure(self, cursor: Any) -> list[Any]:
        with pytest.deprecated_call():
            return [row for result in cursor.stored_results() for row in result.fetchall()]

    def lazily(self, arguments: Callable[[], Iterator[Any]]) -> Any:
        return list(arguments()) if C_EXTENSION else arguments()  # the C connection takes lists and tuples alone

    def give_up(self, connection: Any, cursor: Any) -> None:
        connection.can_consume_results = True
        cursor.close()

    def test_what_the_driver_asks_by_the_way_is_a_statement_of_its_own(self, recorded: Sink, server: Server) -> None:
        connection = self.connect(server, sql_mode=None)
        with walltime.transaction("job"):
            cursor = connection.cursor()
            cursor.execute("SELECT id FROM fruit WHERE id = %s", (1,))
            assert cursor.fetchall() == [(1,)]
        asked = {} if C_EXTENSION else {"SELECT @@session.sql_mode": 1}
        assert recorded.transaction().statements() == {"SELECT id FROM fruit WHERE id = %s": 1, **asked}

    def test_a_prepared_statement_is_prepared_once_and_never_tagged(self, recorded: Sink, server: Server) -> None:
        connection = self.connect(server)
        with walltime.transaction("job"):
            cursor = connection.cursor(prepared=True)
            for n in (1, 2, 3):
                cursor.execute("SELECT id AS prepared_by_connector, name FROM fruit WHERE id >= %s", (n,))
                assert len(cursor.fetchall()) == 4 - n
            cursor.close()
        bill = recorded.transaction()
        assert bill.cell("mysql.prepare") == {"calls": 1}
        assert bill.cell("mysql.query") == {"calls": 3}
        assert bill.cell("mysql.fetch") == {"calls": 3, "rows": 6}
        assert bill.statements()["SELECT id AS prepared_by_connector, name FROM fruit WHERE id >= %s"] == 3
        log = server.mariadb.general_log
        assert log is not None
        prepared = [line for line in log.read_text().splitlines() if "prepared_by_connector" in line]
        assert len(prepared) >= 4
        assert not [line for line in prepared if "traceparent" in line]


@pytest.mark.skipif(C_EXTENSION, reason="this is it")
def test_all_of_this_holds_for_the_c_connection() -> None:
    # It needs a newer TLS library than Python may have loaded, so it is loaded first, in a fresh process.
    program = (
        "import sys\n"
        "try: import _mysql_connector\n"
        "except ImportError as error: sys.exit(f'skip: {error}')\n"
        "import pytest\n"
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    # Without the plugins that are only installed for others: loading them would take most of the time.
    environment = {**os.environ, "WALLTIME_TEST_C_EXTENSION": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-c", program, "-q", "-p", "pytest_timeout", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    if "skip:" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
