"""What aiomysql and asyncmy have in common: a connection like PyMySQL's, with coroutines for methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from walltime.clients.mysql.statements import NO_ROW_COUNT, QUERY, Fetch, kept, number, sent_async
from walltime.core.execution import task_execution
from walltime.core.sql_comment import tag
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from walltime.core.call import Target

_COM_QUERY: Final = 3


def methods(library: str, connection: type) -> list[Patch]:
    """Return what replaces the methods that both connections have."""

    def sends(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        return sent_async(library, "mysql.query", about, text)

    return [
        Patch(connection, "query", _query(library)),
        Patch(connection, "next_result", _next_result(library)),
        Patch(connection, "_execute_command", _execute_command),
        Patch(connection, "begin", sends("BEGIN")),
        Patch(connection, "_send_autocommit_mode", sends("SET AUTOCOMMIT = ?")),
        Patch(connection, "set_charset", sends("SET NAMES ?")),
        Patch(connection, "show_warnings", sends("SHOW WARNINGS")),
        Patch(connection, "select_db", sends("USE")),
        Patch(connection, "commit", sent_async(library, "mysql.commit", about)),
        Patch(connection, "rollback", sent_async(library, "mysql.commit", about)),
        Patch(connection, "ping", sent_async(library, "mysql.ping", about)),
    ]


def about(connection: Any) -> tuple[Target | None, int]:
    """Say of a connection of either driver which server it talks to and its number there."""
    path, thread_id = connection._unix_socket, getattr(connection, "server_thread_id", None)
    target = str(path) if path else (connection._host, connection._port)
    return target, thread_id[0] if thread_id else 0


def about_pool(pool: Any) -> tuple[Target | None, int]:
    """Say of a pool of either driver to which server its connections go, as the application has it."""
    asked = getattr(pool, "_conn_kwargs", {})
    path = asked.get("unix_socket")
    return str(path) if path else (str(asked.get("host") or "localhost"), int(asked.get("port") or 3306)), 0


def _query(library: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
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
                ended_ns = clock()
                try:
                    target, connection_id = about(self)
                    subject, failure = kept(sql if execution.statement is None else execution.statement), number(error)
                    execution.record(QUERY[target], subject, started_ns, ended_ns, outer_ns, failure, connection_id)
                except Exception as ours:
                    contain(library, ours)
                raise
            ended_ns = clock()
            try:
                target, connection_id = about(self)
                subject = kept(sql if execution.statement is None else execution.statement)
                if rows >= NO_ROW_COUNT:
                    self._walltime = Fetch(target, connection_id, subject)
                found = rows if rows < NO_ROW_COUNT else 0
                execution.record(QUERY[target], subject, started_ns, ended_ns, outer_ns, None, connection_id, found)
            except Exception as ours:
                contain(library, ours)
            return rows

        return query

    return wrap


def _execute_command(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    def _execute_command(self: Any, command: int, sql: Any) -> Awaitable[Any]:
        execution = task_execution()
        if execution is None or command != _COM_QUERY:
            return original(self, command, sql)
        return original(self, command, tag(execution, sql))

    return _execute_command


def _next_result(library: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrap(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def next_result(self: Any, *args: Any, **kwargs: Any) -> Any:
            execution = task_execution()
            if execution is None:
                return await original(self, *args, **kwargs)
            outer_ns = execution.nested_ns
            started_ns = clock()
            try:
                rows = await original(self, *args, **kwargs)
            except BaseException as error:
                ended_ns = clock()
                try:
                    Fetch(*about(self)).read(execution, started_ns, ended_ns, outer_ns, 0, number(error))
                except Exception as ours:
                    contain(library, ours)
                raise
            ended_ns = clock()
            try:
                self._walltime = fetch = Fetch(*about(self))
                fetch.read(execution, started_ns, ended_ns, outer_ns, rows if rows < NO_ROW_COUNT else 0)
            except Exception as ours:
                contain(library, ours)
            return rows

        return next_result

    return wrap
