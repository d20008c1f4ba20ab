"""
mysql-connector-python, both its pure and its C connection: connect, statements, rows, prepared statements, ping.

An ordinary cursor of it reads its rows after the query, so they are on `mysql.fetch`. A statement that the server is to
prepare is never tagged: each comment would make another one of it. What the C library sends by itself stays untagged:
COMMIT, ROLLBACK and SET autocommit, which is a property's and seen within a connect only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mysql.connector.connection import MySQLConnection
from mysql.connector.cursor import MySQLCursor, MySQLCursorPrepared

from walltime.clients.mysql.statements import NO_ROW_COUNT, QUERY, Fetch, kept, number, sent, template, whole
from walltime.core.call import lines
from walltime.core.execution import current
from walltime.core.sql_comment import tag
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from walltime.core.call import Lines, Target
    from walltime.core.execution import ExecutionContext

REQUIRES: Final = "mysql-connector-python >= 8.0"

_PREPARE: Final = lines("mysql.prepare")
_UNKNOWN: Final = "(prepared statement)"
"""One that the application executes by its number, not through a cursor."""


def patches() -> list[Patch]:
    pure = [
        *_of(MySQLConnection),
        Patch(MySQLConnection, "cmd_query_iter", _query_iter),
        Patch(MySQLConnection, "cmd_ping", sent("mysql_connector", "mysql.ping", _about)),
        Patch(MySQLCursor, "execute", template),
        Patch(MySQLCursor, "executemany", template),
        Patch(MySQLCursor, "nextset", _next),
        Patch(MySQLCursorPrepared, "execute", template),
    ]
    try:
        from mysql.connector.connection_cext import CMySQLConnection
        from mysql.connector.cursor_cext import CMySQLCursor, CMySQLCursorPrepared
    except ImportError:  # no C extension here, or a TLS library that it cannot work with
        return pure
    return [
        *pure,
        *_of(CMySQLConnection),
        Patch(CMySQLConnection, "_execute_query", _query),
        Patch(CMySQLConnection, "info_query", _query),
        Patch(CMySQLConnection, "is_connected", sent("mysql_connector", "mysql.ping", _about)),
        Patch(CMySQLConnection, "ping", sent("mysql_connector", "mysql.ping", _about)),
        Patch(CMySQLConnection, "next_result", _next),
        Patch(CMySQLCursor, "execute", template),
        Patch(CMySQLCursor, "executemany", template),
        Patch(CMySQLCursorPrepared, "execute", template),
    ]


def _of(connection: type) -> list[Patch]:
    """What both connections have."""
    return [
        Patch(connection, "connect", _sends("mysql.connect")),
        Patch(connection, "cmd_query", _query),
        Patch(connection, "cmd_init_db", sent("mysql_connector", "mysql.query", _about, "USE")),
        Patch(connection, "cmd_stmt_prepare", _prepare),
        Patch(connection, "cmd_stmt_reset", sent("mysql_connector", "mysql.reset", _about)),
        Patch(connection, "cmd_stmt_execute", _execute_prepared),
        Patch(connection, "get_rows", _get_rows),
        Patch(connection, "commit", _sends("mysql.commit")),
        Patch(connection, "rollback", _sends("mysql.commit")),
        Patch(connection, "reset_session", _sends("mysql.reset")),
    ]


def _sends(component: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A method that is one call of the component, with the statements it sends."""
    return lambda original: sent("mysql_connector", component, _about)(whole(original))


def _about(connection: Any) -> tuple[Target | None, int]:
    handshake = connection.__dict__.get("_handshake") or {}
    path = connection._unix_socket
    target = str(path) if path else (connection._host, connection._port)
    return target, int(handshake.get("server_threadid") or 0)


# ---- statements ----


def _query(original: Callable[..., Any]) -> Callable[..., Any]:
    def query(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        execution = current()
        if execution is None:
            outside("mysql_connector")
            return original(self, query, *args, **kwargs)
        subject = query if execution.statement is None else execution.statement
        tagged = tag(execution, query)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            result = original(self, tagged, *args, **kwargs)
        except BaseException as error:
            _record(execution, QUERY, self, subject, started_ns, outer_ns, error=error)
            raise
        _record(execution, QUERY, self, subject, started_ns, outer_ns, result)
        return result

    return query


def _query_iter(original: Callable[..., Any]) -> Callable[..., Any]:
    def cmd_query_iter(self: Any, statements: Any, *args: Any, **kwargs: Any) -> Any:
        execution = current()
        if execution is None:
            outside("mysql_connector")
            return original(self, statements, *args, **kwargs)
        return _results(self, original(self, tag(execution, statements), *args, **kwargs), statements)

    return cmd_query_iter


def _results(connection: Any, results: Iterator[Any], subject: Any) -> Iterator[Any]:
    """The first result is the query's, each further one is fetched; whoever asks for one waits for it."""
    first = True
    while True:
        execution = current()
        if execution is None:
            try:
                result = next(results)
            except StopIteration:
                return
        else:
            outer_ns = execution.nested_ns
            started_ns = clock()
            try:
                result = next(results)
            except StopIteration:
                return
            except BaseException as error:
                if first:
                    _record(execution, QUERY, connection, subject, started_ns, outer_ns, error=error)
                else:
                    _read(execution, connection, Fetch(*_about(connection)), started_ns, outer_ns, 0, error)
                raise
            if first:
                _record(execution, QUERY, connection, subject, started_ns, outer_ns, result)
            else:
                _read(execution, connection, None, started_ns, outer_ns, _affected(result))
        first = False
        yield result


def _prepare(original: Callable[..., Any]) -> Callable[..., Any]:
    def cmd_stmt_prepare(self: Any, statement: Any, *args: Any, **kwargs: Any) -> Any:
        execution = current()
        if execution is None:
            outside("mysql_connector")
            return original(self, statement, *args, **kwargs)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            result = original(self, statement, *args, **kwargs)
        except BaseException as error:
            _record(execution, _PREPARE, self, statement, started_ns, outer_ns, error=error)
            raise
        _record(execution, _PREPARE, self, statement, started_ns, outer_ns)
        return result

    return cmd_stmt_prepare


def _execute_prepared(original: Callable[..., Any]) -> Callable[..., Any]:
    def cmd_stmt_execute(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = current()
        if execution is None:
            outside("mysql_connector")
            return original(self, *args, **kwargs)
        subject = _UNKNOWN if execution.statement is None else execution.statement
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            _record(execution, QUERY, self, subject, started_ns, outer_ns, error=error)
            raise
        _record(execution, QUERY, self, subject, started_ns, outer_ns, result)
        return result

    return cmd_stmt_execute


def _record(
    execution: ExecutionContext,
    at: Lines,
    connection: Any,
    subject: Any,
    started_ns: int,
    outer_ns: int,
    result: Any = None,
    error: BaseException | None = None,
) -> None:
    """Record a statement, and have the rows counted that are read of it later."""
    ended_ns = clock()
    try:
        target, connection_id = _about(connection)
        failure = None if error is None else number(error)
        found = _affected(result)
        subject = kept(subject)
        execution.record(at[target], subject, started_ns, ended_ns, outer_ns, failure, connection_id, found)
        connection._walltime = Fetch(target, connection_id, subject)
    except Exception as ours:
        contain("mysql_connector", ours)


def _affected(result: Any) -> int:
    found = result.get("affected_rows", 0) if isinstance(result, dict) else 0
    return found if 0 <= found < NO_ROW_COUNT else 0


# ---- what is read later ----


def _get_rows(original: Callable[..., Any]) -> Callable[..., Any]:
    def get_rows(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = current()
        if execution is None:
            return original(self, *args, **kwargs)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            _read(execution, self, self.__dict__.get("_walltime"), started_ns, outer_ns, 0, error)
            raise
        _read(execution, self, self.__dict__.get("_walltime"), started_ns, outer_ns, len(result[0]))
        return result

    return get_rows


def _next(original: Callable[..., Any]) -> Callable[..., Any]:
    """The next of several results: a method of the C connection, in the pure one of the cursor."""

    def next_result(self: Any) -> Any:
        execution = current()
        if execution is None:
            return original(self)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            is_one = original(self)
        except BaseException as error:
            _read(execution, _connection(self), None, started_ns, outer_ns, 0, error)
            raise
        if is_one:
            _read(execution, _connection(self), None, started_ns, outer_ns, 0)
        return is_one

    return next_result


def _connection(cursor: Any) -> Any:
    connection = getattr(cursor, "_connection", None)
    return cursor if connection is None else connection


def _read(
    execution: ExecutionContext,
    connection: Any,
    fetch: Fetch | None,
    started_ns: int,
    outer_ns: int,
    rows: int,
    error: BaseException | None = None,
) -> None:
    """Record what was read; without a `fetch` it is the beginning of another result."""
    ended_ns = clock()
    try:
        if fetch is None:
            connection._walltime = fetch = Fetch(*_about(connection))
        fetch.read(execution, started_ns, ended_ns, outer_ns, rows, None if error is None else number(error))
    except Exception as ours:
        contain("mysql_connector", ours)
