"""asyncmy against a real MariaDB."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncmy
import asyncmy.errors
import walltime

from tests.sdk.clients.mysql.async_mysql_matrix import AsyncMatrix
from tests.sdk.clients.mysql.mysql_server import Server
from tests.sdk.sink import Sink


class TestAsyncmy(AsyncMatrix):
    library = "asyncmy"
    errors = asyncmy.errors.Error
    has_templates = False

    async def open(self, **account: Any) -> Any:
        return await asyncmy.connect(**account)

    async def pool(self, **account: Any) -> Any:
        return await asyncmy.create_pool(**account)

    def test_a_prepared_statement_is_prepared_once_and_never_tagged(self, recorded: Sink, server: Server) -> None:
        async def work(connection: Any) -> None:
            statement = await connection.prepare("SELECT id AS prepared_here, name FROM fruit WHERE id >= ?")
            for n in (1, 2, 3):
                assert len((await statement.execute((n,))).rows) == 4 - n
            await statement.close()

        self.run(server, work)
        bill = recorded.transaction()
        assert bill.cell("mysql.prepare") == {"calls": 1}
        assert bill.cell("mysql.query") == {"calls": 3, "rows": 6}
        assert bill.statements() == {"SELECT id AS prepared_here, name FROM fruit WHERE id >= ?": 3}
        assert not tagged(server, "prepared_here")

    def test_statements_it_prepares_by_itself_are_seen_too(self, recorded: Sink, server: Server) -> None:
        async def work(connection: Any) -> None:
            for n in (1, 2):
                assert (
                    len(await self.rows(connection, "SELECT name AS prepared_by_itself FROM fruit WHERE id > %s", (n,)))
                    == 3 - n
                )

        async def main() -> None:
            connection = await self.connect(server, stmt_cache_size=10)
            with walltime.transaction("job"):
                await work(connection)
            connection.close()

        asyncio.run(main())
        bill = recorded.transaction()
        assert bill.cell("mysql.prepare") == {"calls": 1}
        assert bill.cell("mysql.query") == {"calls": 2, "rows": 3}
        assert not tagged(server, "prepared_by_itself")


def tagged(server: Server, text: str) -> list[str]:
    log = server.mariadb.general_log
    assert log is not None
    mine = [line for line in log.read_text().splitlines() if text in line]
    assert mine
    return [line for line in mine if "traceparent" in line]
