"""aiomysql: connect, statements, the rows of unbuffered cursors, commit and rollback, ping, waiting for its pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aiomysql.connection import Connection, MySQLResult
from aiomysql.cursors import Cursor
from aiomysql.pool import Pool

from walltime.clients.mysql.asyncio_statements import about, about_pool, methods
from walltime.clients.mysql.statements import Fetch, number, sent_async, template_async, whole_async
from walltime.core.execution import task_execution
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

REQUIRES: Final = "aiomysql >= 0.1.1, < 1"


def patches() -> list[Patch]:
    return [
        *methods("aiomysql", Connection),
        Patch(Connection, "_connect", _connect),
        Patch(MySQLResult, "_read_rowdata_packet_unbuffered", _read_row),
        Patch(MySQLResult, "_finish_unbuffered_query", _read_row),
        Patch(Cursor, "execute", template_async),
        Patch(Cursor, "executemany", template_async),
        Patch(Pool, "_acquire", sent_async("aiomysql", "mysql.pool", about_pool)),
    ]


def _connect(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    return sent_async("aiomysql", "mysql.connect", about)(whole_async(original))


def _fetch(connection: Any) -> Fetch:
    """Its reads are one call, also where it is not known what was asked for."""
    fetch: Fetch | None = getattr(connection, "_walltime", None)
    if fetch is None:
        fetch = connection._walltime = Fetch(None, 0)
    return fetch


def _read_row(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def read(self: Any) -> Any:
        execution = task_execution()
        if execution is None or not self.unbuffered_active:
            return await original(self)
        connection = self.connection  # gone after the last row
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            row = await original(self)
        except BaseException as error:
            ended_ns = clock()
            try:
                _fetch(connection).read(execution, started_ns, ended_ns, outer_ns, 0, number(error))
            except Exception as ours:
                contain("aiomysql", ours)
            raise
        ended_ns = clock()
        try:
            _fetch(connection).read(execution, started_ns, ended_ns, outer_ns, 0 if row is None else 1)
        except Exception as ours:
            contain("aiomysql", ours)
        return row

    return read
