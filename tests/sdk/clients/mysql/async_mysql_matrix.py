"""What has to hold for every asyncio driver of MySQL, on a real server; each driver's file says its differences."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, ClassVar

import pytest
import walltime
from shop.services import MariaDB
from walltime import errors
from walltime.clients.mysql import statements as mysql
from walltime.core import transaction as transaction_module

from tests.sdk.clients.mysql.mysql_server import Server
from tests.sdk.sink import Sink


class AsyncMatrix:
    """Subclasses are named Test… and say how their driver connects."""

    library: ClassVar[str]
    errors: ClassVar[type[Exception]]
    has_templates: ClassVar[bool] = True
    """Its cursors can be wrapped, so that a statement is known as the application wrote it."""

    async def open(self, **account: Any) -> Any:
        raise NotImplementedError

    async def pool(self, **account: Any) -> Any:
        raise NotImplementedError

    async def connect(self, server: Server, **arguments: Any) -> Any:
        account = {**server.account, **arguments}
        connection = await self.open(db=account.pop("database"), **account)
        server.opened.append(connection)
        return connection

    async def rows(self, connection: Any, *sql: Any) -> list[Any]:
        async with connection.cursor() as cursor:
            await cursor.execute(*sql)
            return list(await cursor.fetchall())

    @pytest.fixture
    def server(self, mariadb: MariaDB) -> Iterator[Server]:
        server = Server(mariadb)
        yield server
        server.close()

    def run(self, server: Server, work: Callable[[Any], Awaitable[Any]]) -> Any:
        """Do the work in a transaction, with a connection from before it."""

        async def main() -> Any:
            connection = await self.connect(server)
            with walltime.transaction("job"):
                outcome = await work(connection)
            connection.close()
            return outcome

        return asyncio.run(main())

    def test_connecting_is_one_call_with_all_that_it_sends(self, recorded: Sink, server: Server) -> None:
        async def main() -> None:
            with walltime.transaction("job"):
                (await self.connect(server, autocommit=True, init_command="SET @a = 1")).close()

        asyncio.run(main())
        bill = recorded.transaction()
        assert bill.cell("mysql.connect") == {"calls": 1}
        assert set(bill.times_ns()) == {"mysql.connect"}
        assert bill.targets()["mysql.connect", f"127.0.0.1:{server.mariadb.port}"]["calls"] == 1

    def test_a_refused_connection_is_a_failed_connect(self, recorded: Sink, server: Server) -> None:
        async def main() -> None:
            with walltime.transaction("job"), pytest.raises(self.errors):
                await self.connect(server, password="wrong")

        asyncio.run(main())
        assert recorded.transaction().cell("mysql.connect") == {"calls": 1, "errors": 1}
        (call,) = recorded.calls("mysql.connect")
        assert call.attributes["db.response.status_code"] == "1045"

    def test_the_bill_counts_what_the_server_counted(self, recorded: Sink, server: Server) -> None:
        async def work(connection: Any) -> tuple[int, int]:
            before = server.statements()
            assert sorted(await self.rows(connection, "SELECT id FROM fruit WHERE id > %s", (1,))) == [(2,), (3,)]
            async with connection.cursor() as cursor:
                await cursor.execute("UPDATE fruit SET name = %s WHERE id = %s", ("fig", 3))
                await cursor.executemany("INSERT INTO fruit VALUES (%s, %s)", [(11, "a"), (12, "b"), (13, "c")])
            await connection.begin()
            await connection.commit()
            await connection.rollback()
            return before, server.statements()

        before, after = self.run(server, work)
        bill = recorded.transaction()
        assert bill.cell("mysql.query") == {"calls": 4, "rows": 6}
        assert bill.cell("mysql.commit") == {"calls": 2}
        assert after - before - 1 == 4 + 2
        if self.has_templates:
            assert bill.statements() == {
                "SELECT id FROM fruit WHERE id > %s": 1,
                "UPDATE fruit SET name = %s WHERE id = %s": 1,
                "INSERT INTO fruit VALUES (%s, %s)": 1,
                "BEGIN": 1,
            }

    def test_every_statement_carries_the_request_id(self, recorded: Sink, server: Server) -> None:
        async def main() -> tuple[int, str]:
            with walltime.transaction("job") as transaction:
                connection = await self.connect(server)
                await self.rows(connection, "SELECT 'semicolon', %s; ", ("100%",))
                async with connection.cursor() as cursor:
                    await cursor.executemany("INSERT INTO fruit VALUES (%s, %s)", [(11, "a"), (12, "b")])
                    await cursor.executemany("UPDATE fruit SET name = %s WHERE id = %s", [("a", 11), ("b", 12)])
                await connection.begin()
                await connection.commit()
                await connection.autocommit(True)
                await connection.show_warnings()
                connection.close()
                return connection.thread_id(), transaction.request_id

        number, request_id = asyncio.run(main())
        sent = server.logged(number)
        assert len([sql for sql in sent if sql.startswith("INSERT")]) == 1
        assert len(sent) >= 8, sent
        assert [sql for sql in sent if f"traceparent='00-{request_id}-" not in sql] == []

    def test_several_statements_and_procedures_count_as_the_server_counts(self, recorded: Sink, server: Server) -> None:
        async def work(connection: Any) -> int:
            before = server.statements()
            async with connection.cursor() as cursor:
                await cursor.execute("SELECT 'a'; SELECT 'b' UNION SELECT 'c'")
                assert await cursor.nextset()
                assert len(await cursor.fetchall()) == 2
                await cursor.callproc("double_it", (21,))
                assert list(await cursor.fetchall()) == [(42,)]
            return server.statements() - before - 1

        assert self.run(server, work) == 4
        bill = recorded.transaction()
        assert bill.cell("mysql.query") == {"calls": 3, "rows": 2}
        # the second result of the first text, and the end of the procedure's results
        assert bill.cell("mysql.fetch") == {"calls": 2, "rows": 2}

    def test_an_error_reaches_the_caller_as_it_was(self, recorded: Sink, server: Server) -> None:
        async def work(connection: Any) -> BaseException:
            with pytest.raises(self.errors) as caught:
                await self.rows(connection, "SELECT * FROM no_such_table")
            return caught.value

        error = self.run(server, work)
        assert error.args[0] == 1146
        assert (error.__cause__, error.__context__) == (None, None)
        assert recorded.transaction().cell("mysql.query") == {"calls": 1, "errors": 1}
        (call,) = recorded.calls("mysql.query")
        assert call.attributes["db.response.status_code"] == "1146"

    def test_a_lock_wait_and_a_deadlock_are_counted_by_name(self, recorded: Sink, server: Server) -> None:
        async def work(connection: Any) -> list[int]:
            with server.locked(3), pytest.raises(self.errors) as timeout:
                await self.rows(connection, "SELECT * FROM fruit WHERE id = 3 FOR UPDATE NOWAIT")
            await self.rows(connection, "UPDATE fruit SET name = 'mine' WHERE id = 1")
            with server.about_to_deadlock(mine=1, theirs=2), pytest.raises(self.errors) as deadlock:
                await self.rows(connection, "UPDATE fruit SET name = 'mine' WHERE id = 2")
            return [timeout.value.args[0], deadlock.value.args[0]]

        assert self.run(server, work) == [1205, 1213]
        cell = recorded.transaction().cell("mysql.query")
        assert (cell["errors"], cell["lock_timeouts"], cell["deadlocks"]) == (2, 1, 1)

    def test_kept_calls_say_the_number_the_server_has_for_the_connection(self, recorded: Sink, server: Server) -> None:
        async def work(connection: Any) -> int:
            ((number,),) = await self.rows(connection, "SELECT CONNECTION_ID()")
            await connection.ping()
            await connection.commit()
            return int(number)

        number = self.run(server, work)
        assert recorded.transaction().cell("mysql.ping") == {"calls": 1}
        assert [call.attributes["walltime.mysql.connection_id"] for call in recorded.calls()] == [number] * 3

    def test_statements_at_the_same_time_are_no_part_of_each_other(self, recorded: Sink, server: Server) -> None:
        async def main() -> None:
            connections = [await self.connect(server) for _ in range(3)]
            with walltime.transaction("job"):
                await asyncio.gather(*(self.rows(c, f"SELECT {n}, SLEEP(0.2)") for n, c in enumerate(connections)))
            for connection in connections:
                connection.close()

        asyncio.run(main())
        (bill,) = recorded.transactions()
        time_ns = bill.times_ns()["mysql.query"]
        assert bill.cell("mysql.query")["calls"] == 3
        assert time_ns >= 3 * 200_000_000
        assert bill.attributes["walltime.covered_ns"] <= bill.duration_ns
        assert time_ns > 2 * bill.attributes["walltime.covered_ns"], "they overlapped"

    def test_a_cancelled_statement_is_an_error_and_stays_cancelled(self, recorded: Sink, server: Server) -> None:
        async def work(connection: Any) -> None:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(self.rows(connection, "SELECT SLEEP(5)"), 0.1)

        self.run(server, work)
        (bill,) = recorded.transactions()
        assert bill.cell("mysql.query") == {"calls": 1, "errors": 1}
        (call,) = recorded.calls("mysql.query")
        assert call.attributes["error.type"] == "CancelledError"

    def test_waiting_for_the_pool_is_a_line_of_its_own(self, recorded: Sink, server: Server) -> None:
        async def main() -> None:
            account = dict(server.account)
            pool = await self.pool(db=account.pop("database"), minsize=1, maxsize=1, **account)

            async def request() -> None:
                async with pool.acquire() as connection:
                    await self.rows(connection, "SELECT SLEEP(0.3)")

            with walltime.transaction("job"):
                await asyncio.gather(request(), request())
            pool.close()
            await pool.wait_closed()

        asyncio.run(main())
        (bill,) = recorded.transactions()
        assert bill.cell("mysql.pool") == {"calls": 2}
        assert bill.targets()["mysql.pool", f"127.0.0.1:{server.mariadb.port}"]["calls"] == 2
        assert 250_000_000 <= bill.times_ns()["mysql.pool"] < bill.times_ns()["mysql.query"]
        assert bill.cell("mysql.query")["calls"] == 2

    def test_without_a_transaction_nothing_is_tagged_and_calls_are_counted(
        self, recorded: Sink, server: Server
    ) -> None:
        async def main() -> int:
            connection = await self.connect(server)
            await self.rows(connection, "SELECT 'outside'")
            connection.close()
            return int(connection.thread_id())

        before = transaction_module.outside_calls.get(self.library, 0)
        number = asyncio.run(main())
        assert all("traceparent" not in sql for sql in server.logged(number))
        assert recorded.spans() == []
        assert transaction_module.outside_calls[self.library] >= before + 2

    def test_a_failure_of_ours_leaves_every_result_and_error_as_it_is(
        self, sink: Sink, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: Any, **__: Any) -> None:
            raise RuntimeError("ours")

        async def work(connection: Any) -> list[Any]:
            seen = await self.rows(connection, "SELECT id FROM fruit ORDER BY id")
            async with connection.cursor() as cursor:
                await cursor.execute("SELECT 1; SELECT 2")
                seen += [await cursor.nextset(), *await cursor.fetchall()]
            with pytest.raises(self.errors) as caught:
                await self.rows(connection, "SELECT * FROM no_such_table")
            await connection.ping()
            await connection.rollback()
            return [*seen, type(caught.value), caught.value.args, caught.value.__context__]

        walltime.configure(endpoint=sink.endpoint)
        plain = self.run(server, work)
        walltime.instrument(self.library)
        monkeypatch.setattr(transaction_module.Transaction, "record", broken)
        monkeypatch.setattr(mysql, "FETCH", None)
        assert str(self.run(server, work)) == str(plain)
        assert errors.contained[self.library] >= 5
