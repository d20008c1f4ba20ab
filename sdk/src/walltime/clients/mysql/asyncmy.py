"""
asyncmy: connect, every statement, prepared statements, commit and rollback, ping, waiting for its pool.

Its cursors and results are compiled and cannot be patched: a statement is known by its text with the values removed,
and what an unbuffered cursor reads after its query is not seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from asyncmy.connection import Connection, PreparedStatement
from asyncmy.pool import Pool

from walltime.clients.mysql.asyncio_statements import about, about_pool, methods
from walltime.clients.mysql.statements import PREPARE, QUERY, UNKNOWN, counted, number, sent
from walltime.instrumentation.measure import Measure, first
from walltime.instrumentation.patching import Patch
from walltime.instrumentation.timed import whole_async

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from walltime.instrumentation.measure import Described

REQUIRES: Final = "asyncmy >= 0.2.10, < 1"


def patches() -> list[Patch]:
    execute = Measure("asyncmy", _describe_execute, failure=number).awaited
    return [
        *methods("asyncmy", Connection),
        Patch(Connection, "connect", _connect),
        Patch(Connection, "prepare", Measure("asyncmy", _describe_prepare, failure=number).awaited),
        Patch(PreparedStatement, "execute", execute),
        Patch(PreparedStatement, "execute_bulk", execute),
        Patch(Pool, "_acquire", sent("asyncmy", "mysql.pool", about_pool).awaited),
    ]


def _connect(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    measured = sent("asyncmy", "mysql.connect", about).awaited(whole_async(original))

    async def connect(self: Any) -> Any:
        return await (original(self) if self._connected else measured(self))  # connected, it does nothing

    return connect


def _describe_prepare(connection: Any, args: Any, statement: Any, error: BaseException | None) -> Described:
    target, connection_id = about(connection)
    sql = first(args)
    if error is None:
        statement._walltime = sql
    return PREPARE[target], sql, None, connection_id, 0


def _describe_execute(statement: Any, _args: Any, result: Any, error: BaseException | None) -> Described:
    target, connection_id = about(statement._connection)
    rows = 0 if error is not None else counted(result.affected_rows)
    return QUERY[target], statement.__dict__.get("_walltime", UNKNOWN), None, connection_id, rows
