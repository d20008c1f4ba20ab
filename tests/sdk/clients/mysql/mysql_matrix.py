"""What has to hold for every blocking driver of MySQL, on a real server; each driver's file says its differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
import walltime
from shop.services import MariaDB
from walltime import errors
from walltime.clients.mysql import statements as mysql
from walltime.core import transaction as transaction_module

from tests.sdk.clients.mysql.mysql_server import Server
from tests.sdk.sink import Sink


class Matrix:
    """Subclasses are named Test… and say how their driver connects."""

    library: ClassVar[str]
    errors: ClassVar[type[Exception]]
    sent_by_the_driver: ClassVar[frozenset[str]] = frozenset()
    """Statements that the driver's C library sends by itself, where no comment can be added."""
    procedure: ClassVar[list[str]] = ["SET @`_double_it_0`=?", "CALL `double_it`(@`_double_it_0`)"]
    """What the driver sends for a procedure with one argument."""
    rows_are_fetched: ClassVar[bool] = False
    """An ordinary cursor reads its rows after the query."""

    def connect(self, server: Server, **arguments: Any) -> Any:
        connection = self.open(**{**server.account, **arguments})
        server.opened.append(connection)
        return connection

    def open(self, **account: Any) -> Any:
        raise NotImplementedError

    def unbuffered(self, connection: Any) -> Any:
        """A cursor that reads row by row."""
        raise NotImplementedError

    def connection_id(self, connection: Any) -> int:
        return int(connection.thread_id())

    @pytest.fixture
    def server(self, mariadb: MariaDB) -> Iterator[Server]:
        server = Server(mariadb)
        yield server
        server.close()

    # ---- connecting ----

    def test_connecting_is_one_call_with_all_that_it_sends(self, recorded: Sink, server: Server) -> None:
        with walltime.transaction("job"):
            self.connect(server, autocommit=True).close()
        bill = recorded.transaction()
        assert bill.cell("mysql.connect") == {"calls": 1}
        assert set(bill.times_ns()) == {"mysql.connect"}
        address = f"127.0.0.1:{server.mariadb.port}"
        assert bill.targets()["mysql.connect", address]["calls"] == 1

    def test_a_refused_connection_is_a_failed_connect(self, recorded: Sink, server: Server) -> None:
        server.account["password"] = "wrong"
        with walltime.transaction("job"), pytest.raises(self.errors) as caught:
            self.connect(server)
        assert caught.value.args[0] == 1045
        assert recorded.transaction().cell("mysql.connect") == {"calls": 1, "errors": 1}
        (call,) = recorded.calls("mysql.connect")
        assert call.attributes["db.response.status_code"] == "1045"
        assert call.attributes["server.port"] == server.mariadb.port

    def test_a_server_that_is_reached_by_a_socket_goes_by_its_path(self, recorded: Sink, server: Server) -> None:
        path = str(server.mariadb.data / "mariadb.sock")
        account = {"unix_socket": path, "user": "nobody", "password": "wrong"}
        with walltime.transaction("job"), pytest.raises(self.errors) as refused:
            self.open(**account)  # there is no account for it: 1045, or 1698 of a server that root did not start
        assert refused.value.args[0] in {1045, 1698}
        assert recorded.transaction().targets() == {
            ("mysql.connect", path): {"calls": 1, "errors": 1, "hits": 0, "misses": 0}
        }
        (call,) = recorded.calls("mysql.connect")
        assert call.attributes["db.response.status_code"] == str(refused.value.args[0])

    # ---- statements ----

    def test_the_bill_counts_what_the_server_counted(self, recorded: Sink, server: Server) -> None:
        connection = self.connect(server)
        before = server.statements()
        with walltime.transaction("job"):
            cursor = connection.cursor()
            cursor.execute("SELECT id FROM fruit WHERE id > %s", (1,))
            assert sorted(row[0] for row in cursor.fetchall()) == [2, 3]
            cursor.execute("UPDATE fruit SET name = %s WHERE id = %s", ("fig", 3))
            cursor.executemany("INSERT INTO fruit VALUES (%s, %s)", [(11, "a"), (12, "b"), (13, "c")])
            cursor.execute("DELETE FROM fruit WHERE id = 11")
            cursor.close()
            connection.commit()
            connection.rollback()
        after = server.statements()
        bill = recorded.transaction()
        assert bill.cell("mysql.query")["calls"] == 4
        assert bill.cell("mysql.commit") == {"calls": 2}
        assert after - before - 1 == 4 + 2
        rows = [bill.cell(component).get("rows", 0) for component in ("mysql.query", "mysql.fetch")]
        assert rows == ([5, 2] if self.rows_are_fetched else [7, 0])

    def test_executemany_of_three_rows_is_one_statement_under_its_template(
        self, recorded: Sink, server: Server
    ) -> None:
        connection = self.connect(server)
        with walltime.transaction("import"):
            cursor = connection.cursor()
            cursor.executemany("INSERT INTO fruit (id, name) VALUES (%s, %s)", [(11, "a"), (12, "b"), (13, "c")])
            assert cursor.rowcount == 3
            cursor.close()
            connection.commit()
        bill = recorded.transaction()
        assert bill.cell("mysql.query") == {"calls": 1, "rows": 3}
        assert bill.statements() == {"INSERT INTO fruit (id, name) VALUES (%s, %s)": 1}
        sent = [sql for sql in server.logged(self.connection_id(connection)) if sql.startswith("INSERT")]
        assert len(sent) == 1

    def test_a_statement_whose_arguments_ask_the_server_keeps_its_own_template(
        self, recorded: Sink, server: Server
    ) -> None:
        connection, other = self.connect(server), self.connect(server)

        def names() -> Iterator[tuple[str, int]]:
            for n in (1, 2):
                cursor = other.cursor()
                cursor.execute("SELECT UPPER(name) FROM fruit WHERE id = %s", (n,))
                yield (cursor.fetchall()[0][0], n)

        with walltime.transaction("job"):
            connection.cursor().executemany("UPDATE fruit SET name = %s WHERE id = %s", self.lazily(names))
        assert recorded.transaction().statements() == {
            "SELECT UPPER(name) FROM fruit WHERE id = %s": 2,
            "UPDATE fruit SET name = %s WHERE id = %s": 2,
        }

    def lazily(self, arguments: Callable[[], Iterator[Any]]) -> Any:
        """As lazily as the driver's executemany takes them."""
        return arguments()

    def test_every_statement_carries_the_request_id(self, recorded: Sink, server: Server) -> None:
        with walltime.transaction("job") as transaction:
            connection = self.connect(server)
            number = self.connection_id(connection)
            cursor = connection.cursor()
            cursor.execute("SELECT 'plain'")
            cursor.fetchall()
            cursor.execute("SELECT 'semicolon', %s; ", ("100%",))
            cursor.fetchall()
            cursor.executemany("INSERT INTO fruit (id, name) VALUES (%s, %s)", [(11, "a"), (12, "b")])
            cursor.executemany("UPDATE fruit SET name = %s WHERE id = %s", [("a", 11), ("b", 12)])
            cursor.close()
            connection.commit()
            connection.rollback()
            request_id = transaction.request_id
        sent = server.logged(number)
        assert len(sent) >= 7, sent
        untagged = [sql for sql in sent if f"traceparent='00-{request_id}-" not in sql]
        assert {sql for sql in untagged if sql not in self.sent_by_the_driver} == set()

    def test_several_statements_at_once_are_a_query_and_what_is_fetched_after_it(
        self, recorded: Sink, server: Server
    ) -> None:
        connection = self.connect(server)
        before = server.statements()
        with walltime.transaction("job"):
            cursor = connection.cursor()
            cursor.execute("SELECT 'a'; SELECT 'b' UNION SELECT 'c'; SELECT 'd'")
            sets = [list(cursor.fetchall())]
            while cursor.nextset():
                sets.append(list(cursor.fetchall()))
            cursor.close()
        assert server.statements() - before - 1 == 3
        assert [len(rows) for rows in sets] == [1, 2, 1]
        bill = recorded.transaction()
        assert bill.cell("mysql.query")["calls"] == 1
        assert bill.cell("mysql.query").get("rows", 0) + bill.cell("mysql.fetch")["rows"] == 4
        assert bill.statements() == {"SELECT ?; SELECT ? UNION SELECT ?; SELECT ?": 1}

    def test_a_procedure_is_its_statements(self, recorded: Sink, server: Server) -> None:
        connection = self.connect(server)
        before = server.statements()
        with walltime.transaction("job"):
            cursor = connection.cursor()
            cursor.callproc("double_it", (21,))
            assert self.result_of_procedure(cursor) == [(42,)]
            while cursor.nextset():
                pass
            cursor.close()
        sent = server.statements() - before - 1
        bill = recorded.transaction()
        assert bill.cell("mysql.query")["calls"] == sent
        assert bill.statements() == dict.fromkeys(self.procedure, 1)

    def result_of_procedure(self, cursor: Any) -> list[Any]:
        return list(cursor.fetchall())

    def test_rows_read_one_by_one_are_one_fetch(self, recorded: Sink, server: Server) -> None:
        connection = self.connect(server)
        with walltime.transaction("report"):
            cursor = self.unbuffered(connection)
            cursor.execute("SELECT seq FROM seq_1_to_500 WHERE seq > %s", (0,))
            total = 0
            for row in cursor:
                with walltime.component("render"):
                    total += row[0]
            cursor.close()
        assert total == 125250
        bill = recorded.transaction()
        assert bill.cell("mysql.query") == {"calls": 1}
        assert bill.cell("mysql.fetch") == {"calls": 1, "rows": 500}
        assert bill.cell("render") == {"calls": 500}
        (fetch,) = recorded.calls("mysql.fetch")
        assert fetch.attributes["db.query.text"] == "SELECT seq FROM seq_? WHERE seq > %s" or fetch.attributes[
            "db.query.text"
        ].startswith("SELECT seq FROM seq_1_to_500")

    def test_a_result_that_is_given_up_is_read_to_its_end_by_the_driver_and_billed(
        self, recorded: Sink, server: Server
    ) -> None:
        connection = self.connect(server)
        with walltime.transaction("report"):
            cursor = self.unbuffered(connection)
            cursor.execute("SELECT seq FROM seq_1_to_500")
            cursor.fetchone()
            self.give_up(connection, cursor)
        assert recorded.transaction().cell("mysql.fetch")["calls"] == 1

    def give_up(self, connection: Any, cursor: Any) -> None:
        cursor.close()

    # ---- what goes wrong ----

    def test_an_error_reaches_the_caller_as_it_was(self, recorded: Sink, server: Server) -> None:
        connection = self.connect(server)

        def failing() -> BaseException:
            with pytest.raises(self.errors) as caught:
                connection.cursor().execute("SELECT * FROM no_such_table WHERE id = %s", (1,))
            return caught.value

        plain = failing()
        with walltime.transaction("job"):
            ours = failing()
        assert (type(ours), ours.args) == (type(plain), plain.args)
        assert (type(ours.__cause__), type(ours.__context__)) == (type(plain.__cause__), type(plain.__context__))
        assert recorded.transaction().cell("mysql.query") == {"calls": 1, "errors": 1}
        (call,) = recorded.calls("mysql.query")
        assert call.attributes["db.response.status_code"] == "1146"
        assert call.attributes["db.query.text"] == "SELECT * FROM no_such_table WHERE id = %s"

    def test_a_lock_wait_that_times_out_is_counted_by_name(self, recorded: Sink, server: Server) -> None:
        connection = self.connect(server)
        with server.locked(1), walltime.transaction("job"), pytest.raises(self.errors) as caught:
            connection.cursor().execute("SELECT * FROM fruit WHERE id = 1 FOR UPDATE NOWAIT")
        assert caught.value.args[0] == 1205
        assert recorded.transaction().cell("mysql.query") == {"calls": 1, "errors": 1, "lock_timeouts": 1}
        connection.rollback()

    def test_a_deadlock_is_counted_by_name(self, recorded: Sink, server: Server) -> None:
        connection = self.connect(server)
        cursor = connection.cursor()
        with walltime.transaction("job"):
            cursor.execute("UPDATE fruit SET name = 'mine' WHERE id = 1")
            with server.about_to_deadlock(mine=1, theirs=2), pytest.raises(self.errors) as caught:
                cursor.execute("UPDATE fruit SET name = 'mine' WHERE id = 2")
        assert caught.value.args[0] == 1213
        cell = recorded.transaction().cell("mysql.query")
        assert (cell["calls"], cell["errors"], cell["deadlocks"]) == (2, 1, 1)
        connection.rollback()

    # ---- the rest ----

    def test_a_ping_is_a_ping(self, recorded: Sink, server: Server) -> None:
        connection = self.connect(server)
        with walltime.transaction("job"):
            connection.ping()
        assert recorded.transaction().cell("mysql.ping") == {"calls": 1}

    def test_kept_calls_say_the_number_the_server_has_for_the_connection(self, recorded: Sink, server: Server) -> None:
        with walltime.transaction("job"):
            connection = self.connect(server)
            cursor = connection.cursor()
            cursor.execute("SELECT CONNECTION_ID()")
            ((number,),) = cursor.fetchall()
            connection.commit()
        kept = recorded.calls()
        assert {call.attributes["walltime.component"] for call in kept} >= {
            "mysql.connect",
            "mysql.query",
            "mysql.commit",
        }
        assert {call.attributes["walltime.mysql.connection_id"] for call in kept} == {number}

    def test_without_a_transaction_nothing_is_tagged_and_calls_are_counted(
        self, recorded: Sink, server: Server
    ) -> None:
        before = transaction_module.outside_calls.get(self.library, 0)
        connection = self.connect(server)
        cursor = connection.cursor()
        cursor.execute("SELECT 'outside'")
        cursor.fetchall()
        connection.commit()
        assert all("traceparent" not in sql for sql in server.logged(self.connection_id(connection)))
        assert recorded.spans() == []
        assert transaction_module.outside_calls[self.library] >= before + 3

    def test_a_connection_from_before_is_instrumented_too(self, server: Server, sink: Sink) -> None:
        connection = self.connect(server)
        walltime.configure(endpoint=sink.endpoint, sample_probability=1.0)
        walltime.instrument(self.library)
        with walltime.transaction("job"):
            cursor = connection.cursor()
            cursor.execute("SELECT 1")
            cursor.fetchall()
        assert sink.transaction().cell("mysql.query")["calls"] == 1
        (call,) = sink.calls("mysql.query")
        assert call.attributes["walltime.mysql.connection_id"] == self.connection_id(connection)

    def test_the_connection_stays_what_it_was(self, recorded: Sink, server: Server) -> None:
        walltime.uninstrument()
        plain = self.connect(server)
        walltime.instrument()
        ours = self.connect(server)
        assert type(ours) is type(plain)
        assert type(ours.cursor()) is type(plain.cursor())

    def test_a_failure_of_ours_leaves_every_result_and_error_as_it_is(
        self, sink: Sink, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: Any, **__: Any) -> None:
            raise RuntimeError("ours")

        def work() -> list[Any]:
            connection = self.connect(server)
            cursor = self.unbuffered(connection)
            cursor.execute("SELECT id FROM fruit ORDER BY id")
            seen: list[Any] = [cursor.fetchone(), *cursor.fetchall()]
            cursor.close()
            cursor = connection.cursor()
            cursor.executemany("UPDATE fruit SET name = %s WHERE id = %s", [("x", 1), ("y", 2)])
            seen.append(cursor.rowcount)
            cursor.execute("SELECT 1; SELECT 2")
            seen += [*cursor.fetchall(), cursor.nextset(), *cursor.fetchall()]
            with pytest.raises(self.errors) as caught:
                connection.cursor().execute("SELECT * FROM no_such_table")
            connection.rollback()
            connection.ping()
            return [*seen, type(caught.value), caught.value.args, caught.value.__context__]

        plain = work()
        walltime.configure(endpoint=sink.endpoint)
        walltime.instrument(self.library)
        monkeypatch.setattr(transaction_module.Transaction, "record", broken)
        monkeypatch.setattr(mysql, "FETCH", None)
        with walltime.transaction("job"):
            ours = work()
        assert str(ours) == str(plain)
        assert errors.contained[self.library] >= 5
