"""PyMySQL against a real MariaDB: what is billed, what is tagged, what the caller sees."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import pymysql
import pymysql.cursors
import pytest
import walltime
from pymysql.connections import Connection
from pymysql.constants import CLIENT
from shop.services import MariaDB

from tests.sdk.clients.mysql.mysql_matrix import Matrix
from tests.sdk.clients.mysql.mysql_server import Server
from tests.sdk.sink import Sink

Connect = Callable[..., Any]


@pytest.fixture
def table(mariadb: MariaDB) -> str:
    admin = mariadb.admin()
    with admin.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS fruit")
        cursor.execute("CREATE TABLE fruit (id INT PRIMARY KEY, name VARCHAR(40)) ENGINE=InnoDB")
        cursor.execute("INSERT INTO fruit VALUES (1, 'apple'), (2, 'pear'), (3, 'plum')")
    admin.close()
    return "fruit"


def logged(mariadb: MariaDB, text: str) -> list[str]:
    """Statements in the server's general log that contain the text."""
    assert mariadb.general_log is not None
    return [line for line in mariadb.general_log.read_text(errors="replace").splitlines() if text in line]


def test_a_statement_is_billed_with_its_rows_its_server_and_its_template(
    recorded: Sink, connect: Connect, mariadb: MariaDB, table: str
) -> None:
    with walltime.transaction("job"), connect().cursor() as cursor:
        cursor.execute("SELECT id, name FROM fruit WHERE id > %s", (1,))
        assert cursor.fetchall() == ((2, "pear"), (3, "plum"))
    bill = recorded.transaction()
    assert bill.cell("mysql.connect") == {"calls": 1}
    assert bill.cell("mysql.query") == {"calls": 1, "rows": 2}
    assert bill.statements() == {"SELECT id, name FROM fruit WHERE id > %s": 1}
    assert bill.targets()["mysql.query", f"127.0.0.1:{mariadb.port}"]["calls"] == 1
    (call,) = recorded.calls("mysql.query")
    assert call.attributes["db.query.text"] == "SELECT id, name FROM fruit WHERE id > %s"
    assert call.attributes["db.response.returned_rows"] == 2
    assert (call.attributes["server.address"], call.attributes["server.port"]) == ("127.0.0.1", mariadb.port)
    assert call.span.parent_span_id == bill.span.span_id


def test_every_statement_carries_the_request_id_whatever_sends_it(
    recorded: Sink, connect: Connect, mariadb: MariaDB, table: str
) -> None:
    with walltime.transaction("tagging job") as transaction:
        connection = connect(init_command="SET @hello = 1")
        connection.begin()
        with connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute("SELECT 'plain'")
            cursor.execute(b"SELECT 'bytes'")
            cursor.execute("SELECT 'semicolon'; ")
            cursor.execute("SELECT '100%%', %s", ("with a value",))
        with connection.cursor(pymysql.cursors.SSCursor) as cursor:
            cursor.execute("SELECT 'unbuffered'")
            assert cursor.fetchone() == ("unbuffered",)
        connection.query("SELECT 'no cursor'")
        connection.autocommit(True)
        connection.rollback()
        connection.commit()
        request_id = transaction.request_id
    number = connection.thread_id()
    assert mariadb.general_log is not None
    lines = mariadb.general_log.read_text(errors="replace").splitlines()
    mine = [line for line in lines if f"{number} Query" in line]
    sent = [line.partition("Query\t")[2].partition(" /*")[0] for line in mine]
    assert sent[:4] == ["SET NAMES utf8mb4", "SET @hello = 1", "SET AUTOCOMMIT = 0", "BEGIN"]
    assert sent[-3:] == ["SET AUTOCOMMIT = 1", "ROLLBACK", "COMMIT"]
    assert len(sent) == 4 + 6 + 3, sent
    untagged = [line for line in mine if f"traceparent='00-{request_id}-" not in line]
    assert untagged == []
    assert all("route='tagging%20job',service='test'" in line for line in mine)


def test_executemany_of_three_rows_is_still_one_statement(
    recorded: Sink, connect: Connect, mariadb: MariaDB, table: str
) -> None:
    with walltime.transaction("import"):
        connection = connect()
        with connection.cursor() as cursor:
            rows = [(11, "fig"), (12, "kiwi"), (13, "lime")]
            assert cursor.executemany("INSERT INTO fruit (id, name) VALUES (%s, %s)", rows) == 3
        connection.commit()
    assert len(logged(mariadb, "(11, 'fig'),(12, 'kiwi'),(13, 'lime')")) == 1
    bill = recorded.transaction()
    assert bill.cell("mysql.query") == {"calls": 1, "rows": 3}
    assert bill.cell("mysql.commit") == {"calls": 1}
    assert bill.statements() == {"INSERT INTO fruit (id, name) VALUES (%s, %s)": 1}


def test_what_a_connect_sends_inside_itself_counts_as_connect(recorded: Sink, connect: Connect) -> None:
    with walltime.transaction("job"):
        connect(init_command="SET @a = 1", sql_mode="STRICT_ALL_TABLES", autocommit=True)
    assert recorded.transaction().cell("mysql.query") == {}
    assert recorded.transaction().cell("mysql.connect") == {"calls": 1}


def test_preparing_the_connection_is_part_of_connecting(
    recorded: Sink, mariadb: MariaDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    created_ns: list[int] = []
    create = vars(Connection)["_create_ssl_ctx"]

    def timed(self: Any, sslp: Any) -> Any:
        started_ns = time.perf_counter_ns()
        try:
            return create(self, sslp)
        finally:
            created_ns.append(time.perf_counter_ns() - started_ns)

    monkeypatch.setattr(Connection, "_create_ssl_ctx", timed)
    with walltime.transaction("job"):
        pymysql.connect(**mariadb.account()).close()
    bill = recorded.transaction()
    assert bill.cell("mysql.connect") == {"calls": 1}
    assert bill.times_ns()["mysql.connect"] >= sum(created_ns) > 0
    assert 0 < bill.attributes["walltime.mysql.connect.cpu_ns"] <= bill.times_ns()["mysql.connect"]


def test_a_connection_that_cannot_even_be_made_changes_nothing(recorded: Sink) -> None:
    with walltime.transaction("job"), pytest.raises(TypeError):
        pymysql.connect(no_such_argument=1)  # type: ignore[call-overload]
    assert recorded.transaction().cell("mysql.query") == {}


def test_the_other_ways_to_send_a_statement_are_queries_too(recorded: Sink, connect: Connect) -> None:
    with walltime.transaction("job"):
        connection = connect()
        connection.begin()
        connection.set_character_set("utf8mb4")
        connection.autocommit(False)
        connection.autocommit(False)  # says nothing new, so PyMySQL sends nothing
        connection.rollback()
    bill = recorded.transaction()
    assert bill.statements() == {"BEGIN": 1, "SET NAMES ?": 1}
    assert bill.cell("mysql.query")["calls"] == 2
    assert bill.cell("mysql.commit") == {"calls": 1}


def test_a_failing_statement_reaches_the_caller_and_is_billed_as_an_error(recorded: Sink, connect: Connect) -> None:
    with walltime.transaction("job"):
        connection = connect()
        with pytest.raises(pymysql.err.ProgrammingError) as caught, connection.cursor() as cursor:
            cursor.execute("SELECT * FROM no_such_table")
    assert caught.value.args[0] == 1146
    assert recorded.transaction().cell("mysql.query") == {"calls": 1, "errors": 1}
    (call,) = recorded.calls("mysql.query")
    assert call.attributes["db.response.status_code"] == "1146"
    assert call.span.status.code == call.span.status.STATUS_CODE_ERROR
    assert not recorded.transaction().span.status.code, "the application handled it"


def test_a_refused_connection_is_a_failed_connect(recorded: Sink, mariadb: MariaDB) -> None:
    with walltime.transaction("job"), pytest.raises(pymysql.err.OperationalError):
        pymysql.connect(**{**mariadb.account(), "password": "wrong"})
    assert recorded.transaction().cell("mysql.connect") == {"calls": 1, "errors": 1}


def test_literals_never_leave_the_process(recorded: Sink, connect: Connect) -> None:
    with walltime.transaction("job"), connect().cursor() as cursor:
        cursor.execute("SELECT 'secret-one', 4711, \"secret-two\", x'5ec3e7' /* secret-three */")
        connection = cursor.connection
        connection.query("SELECT 'secret-four'")
    wire = b"".join(request.SerializeToString() for request in recorded.requests)
    assert recorded.transaction().statements() == {"SELECT ?, ?, ?, ?": 1, "SELECT ?": 1}
    assert b"secret" not in wire
    assert b"4711" not in wire


def test_without_a_transaction_nothing_is_tagged_or_recorded(
    recorded: Sink, connect: Connect, mariadb: MariaDB
) -> None:
    with connect().cursor() as cursor:
        cursor.execute("SELECT 'outside of everything'")
    assert all("traceparent" not in line for line in logged(mariadb, "outside of everything"))
    assert recorded.spans() == []


def test_tagging_can_be_switched_off(sink: Sink, connect: Connect, mariadb: MariaDB) -> None:
    walltime.configure(endpoint=sink.endpoint, sql_comment=False)
    walltime.instrument("pymysql")
    with walltime.transaction("job"), connect().cursor() as cursor:
        cursor.execute("SELECT 'no comment please'")
    assert [line for line in logged(mariadb, "no comment please") if "traceparent" in line] == []
    assert sink.transaction().cell("mysql.query")["calls"] == 1


class TestPyMySQL(Matrix):
    library = "pymysql"
    errors = pymysql.err.Error

    def open(self, **account: Any) -> Any:
        return pymysql.connect(client_flag=CLIENT.MULTI_STATEMENTS, **account)

    def unbuffered(self, connection: Any) -> Any:
        return connection.cursor(pymysql.cursors.SSCursor)

    def test_a_fetch_that_outlasts_the_detail_is_still_one_call_and_adds_up(
        self, recorded: Sink, server: Server
    ) -> None:
        connection = self.connect(server)
        with walltime.transaction("report"):
            cursor = self.unbuffered(connection)
            cursor.execute("SELECT seq FROM seq_1_to_5000")
            for _ in cursor:
                with walltime.component("render"):
                    pass
        bill = recorded.transaction()  # which looks whether the parts are the whole
        assert bill.cell("render") == {"calls": 5000}
        assert bill.cell("mysql.fetch") == {"calls": 1, "rows": 5000}
        (fetch,) = recorded.calls("mysql.fetch")
        assert fetch.attributes["db.response.returned_rows"] > 100

    def test_a_fetch_in_two_transactions_is_a_call_of_both(self, recorded: Sink, server: Server) -> None:
        connection = self.connect(server)
        with walltime.transaction("one"):
            cursor = self.unbuffered(connection)
            cursor.execute("SELECT seq FROM seq_1_to_10")
            assert len(cursor.fetchmany(4)) == 4
        with walltime.transaction("two"):
            assert len(cursor.fetchall()) == 6
        one, two = recorded.transactions()
        assert one.cell("mysql.fetch") == {"calls": 1, "rows": 4}
        assert two.cell("mysql.fetch") == {"calls": 1, "rows": 6}

    def test_a_result_read_by_several_threads_is_one_call(self, recorded: Sink, server: Server) -> None:
        connection = self.connect(server)
        with walltime.transaction("job"):
            cursor = self.unbuffered(connection)
            cursor.execute("SELECT seq FROM seq_1_to_10")
            reader = threading.Thread(target=copy_context().run, args=(cursor.fetchmany, 4))
            reader.start()
            reader.join()
            assert len(cursor.fetchall()) == 6
        (bill,) = recorded.transactions()
        assert bill.cell("mysql.fetch") == {"calls": 1, "rows": 10}
