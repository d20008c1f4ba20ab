"""What aiomysql and asyncmy have in common: a connection like PyMySQL's, with coroutines for methods."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from walltime.clients.mysql.statements import (
    NO_ROW_COUNT,
    QUERY,
    Fetch,
    kept,
    next_result,
    own_calls,
    sent_statement,
    tagged_command,
)
from walltime.core.execution import task_execution
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from walltime.core.call import Target
    from walltime.instrumentation.measure import Wrap


def methods(library: str, connection: type) -> list[Patch]:
    return [
        Patch(connection, "query", _query(library)),
        Patch(connection, "next_result", next_result(library, about, lambda connection: connection).awaited),
        Patch(connection, "_execute_command", tagged_command(task_execution)),
        *own_calls(library, connection, about, attrgetter("awaited"), "set_charset"),
    ]


# Inline, as PyMySQL's: a query costs 0.5 µs less than by the gate (stub benchmark).
def _query(library: str) -> Wrap:
    failed = sent_statement(library, QUERY, about).end

    def wrap(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def query(self: Any, sql: Any, unbuffered: bool = False) -> Any:
            execution = task_execution()
            if execution is None:
                outside(library)
                return await original(self, sql, unbuffered)
            outer_ns = execution.nested_ns
            started_ns = clock()
            try:
                rows = await original(self, sql, unbuffered)
            except BaseException as error:
                failed(execution, started_ns, clock(), outer_ns, self, (sql,), None, error)
                raise
            ended_ns = clock()
            try:
                target, connection_id = about(self)
                subject = kept(sql if execution.statement is None else execution.statement)
                count = rows
                if rows >= NO_ROW_COUNT:
                    self._walltime, count = Fetch(target, connection_id, subject), 0
                execution.record(QUERY[target], subject, started_ns, ended_ns, outer_ns, None, connection_id, count)
            except Exception as ours:
                contain(library, ours)
            return rows

        return query

    return wrap


def about(connection: Any) -> tuple[Target | None, int]:
    """Return the server of either driver's connection, and the connection's id there."""
    path, thread_id = connection._unix_socket, getattr(connection, "server_thread_id", None)
    target = str(path) if path else (connection._host, connection._port)
    return target, thread_id[0] if thread_id else 0


def about_pool(pool: Any) -> tuple[Target | None, int]:
    """Return the server that either driver's pool connects to, as the application configured it."""
    options = getattr(pool, "_conn_kwargs", {})
    path = options.get("unix_socket")
    return str(path) if path else (str(options.get("host") or "localhost"), int(options.get("port") or 3306)), 0
