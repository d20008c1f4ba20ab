"""
asyncmy: connect, every statement, prepared statements, commit and rollback, ping, waiting for its pool.

Its cursors and results are compiled and cannot be patched: a statement is known by its text with the values taken out,
and what an unbuffered cursor reads after its query is not seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from asyncmy.connection import Connection, PreparedStatement
from asyncmy.pool import Pool

from walltime.clients.mysql.asyncio_statements import about, about_pool, methods
from walltime.clients.mysql.statements import NO_ROW_COUNT, QUERY, number, sent_async, whole_async
from walltime.core.call import lines
from walltime.core.execution import task_execution
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

REQUIRES: Final = "asyncmy >= 0.2.10, < 1"

_PREPARE: Final = lines("mysql.prepare")
_UNKNOWN: Final = "(prepared statement)"


def patches() -> list[Patch]:
    return [
        *methods("asyncmy", Connection),
        Patch(Connection, "connect", _connect),
        Patch(Connection, "prepare", _prepare),
        Patch(PreparedStatement, "execute", _execute),
        Patch(PreparedStatement, "execute_bulk", _execute),
        Patch(Pool, "_acquire", sent_async("asyncmy", "mysql.pool", about_pool)),
    ]


def _connect(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    timed = sent_async("asyncmy", "mysql.connect", about)(whole_async(original))

    async def connect(self: Any) -> Any:
        return await (original(self) if self._connected else timed(self))  # connected, it does nothing

    return connect


def _prepare(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def prepare(self: Any, query: Any) -> Any:
        execution = task_execution()
        if execution is None:
            outside("asyncmy")
            return await original(self, query)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            statement = await original(self, query)
        except BaseException as error:
            ended_ns = clock()
            try:
                target, connection_id = about(self)
                failure = number(error)
                execution.record(_PREPARE[target], query, started_ns, ended_ns, outer_ns, failure, connection_id)
            except Exception as ours:
                contain("asyncmy", ours)
            raise
        ended_ns = clock()
        try:
            target, connection_id = about(self)
            execution.record(_PREPARE[target], query, started_ns, ended_ns, outer_ns, None, connection_id)
            statement._walltime = query
        except Exception as ours:
            contain("asyncmy", ours)
        return statement

    return prepare


def _execute(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def execute(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = task_execution()
        if execution is None:
            outside("asyncmy")
            return await original(self, *args, **kwargs)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            result = await original(self, *args, **kwargs)
        except BaseException as error:
            ended_ns = clock()
            try:
                target, connection_id = about(self._connection)
                subject, failure = self.__dict__.get("_walltime", _UNKNOWN), number(error)
                execution.record(QUERY[target], subject, started_ns, ended_ns, outer_ns, failure, connection_id)
            except Exception as ours:
                contain("asyncmy", ours)
            raise
        ended_ns = clock()
        try:
            target, connection_id = about(self._connection)
            subject, rows = self.__dict__.get("_walltime", _UNKNOWN), result.affected_rows
            found = rows if 0 <= rows < NO_ROW_COUNT else 0
            execution.record(QUERY[target], subject, started_ns, ended_ns, outer_ns, None, connection_id, found)
        except Exception as ours:
            contain("asyncmy", ours)
        return result

    return execute
