"""aiomysql against a real MariaDB."""

from __future__ import annotations

from typing import Any

import aiomysql
import pymysql.err

from tests.sdk.clients.mysql.async_mysql_matrix import AsyncMatrix
from tests.sdk.clients.mysql.mysql_server import Server
from tests.sdk.sink import Sink


class TestAiomysql(AsyncMatrix):
    library = "aiomysql"
    errors = pymysql.err.Error

    async def open(self, **account: Any) -> Any:
        return await aiomysql.connect(**account)

    async def pool(self, **account: Any) -> Any:
        return await aiomysql.create_pool(**account)

    def test_rows_read_one_by_one_are_one_fetch(self, recorded: Sink, server: Server) -> None:
        async def work(connection: Any) -> int:
            async with connection.cursor(aiomysql.SSCursor) as cursor:
                await cursor.execute("SELECT seq FROM seq_1_to_200")
                total = 0
                async for row in cursor:
                    total += row[0]
                return total

        assert self.run(server, work) == 20100
        bill = recorded.transaction()
        assert bill.cell("mysql.query") == {"calls": 1}
        assert bill.cell("mysql.fetch") == {"calls": 1, "rows": 200}
        assert bill.statements() == {"SELECT seq FROM seq_1_to_200": 1}
