"""
PyMySQL: connect, every statement, the rows of unbuffered cursors, commit and rollback, ping.

Timed on the connection, where a statement is sent and its result is read, and tagged below the cursor: a comment added
to what `executemany` is given would break its joining of rows (one statement would become three).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pymysql.connections import Connection, MySQLResult
from pymysql.constants import COMMAND
from pymysql.cursors import Cursor

from walltime.clients.mysql.statements import NO_ROW_COUNT, QUERY, Fetch, kept, number, sent, whole
from walltime.core.execution import current
from walltime.core.sql_comment import tag
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.patching import Patch
from walltime.redaction.redact import MAX_SQL_CHARS

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.call import Line, Target

REQUIRES: Final = "PyMySQL >= 1.1, < 2"

_COM_QUERY: Final = COMMAND.COM_QUERY


def patches() -> list[Patch]:
    return [
        Patch(Connection, "__init__", _init),
        Patch(Connection, "connect", lambda original: _connect(whole(original))),
        Patch(Connection, "query", _query),
        Patch(Connection, "next_result", _next_result),
        Patch(Connection, "_execute_command", _execute_command),
        Patch(Connection, "begin", _sends("BEGIN")),
        Patch(Connection, "_send_autocommit_mode", _sends("SET AUTOCOMMIT = ?")),
        Patch(Connection, "set_character_set", _sends("SET NAMES ?")),
        Patch(Connection, "show_warnings", _sends("SHOW WARNINGS")),
        Patch(Connection, "select_db", _sends("USE")),
        Patch(Connection, "commit", sent("pymysql", "mysql.commit", _about)),
        Patch(Connection, "rollback", sent("pymysql", "mysql.commit", _about)),
        Patch(Connection, "ping", sent("pymysql", "mysql.ping", _about)),
        Patch(MySQLResult, "_read_rowdata_packet_unbuffered", _read_row),
        Patch(MySQLResult, "_finish_unbuffered_query", _read_row),
        Patch(Cursor, "execute", _execute),
        Patch(Cursor, "executemany", _execute),
    ]


def _sends(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A method that sends one statement of its own, past `query`."""
    return sent("pymysql", "mysql.query", _about, text)


# ---- which server, which connection ----


def _about(connection: Any) -> tuple[Target | None, int]:
    number_there = getattr(connection, "server_thread_id", None)
    return _server(connection), number_there[0] if number_there else 0


def _server(connection: Any) -> Target | None:
    if getattr(connection, "unix_socket", None):
        return str(connection.unix_socket)
    return (connection.host, connection.port) if hasattr(connection, "host") else None


def _known(connection: Any) -> tuple[Line, int]:
    """Find out once for a connection what each of its queries is recorded with; `connect` forgets it."""
    target, connection_id = _about(connection)
    connection._walltime = known = QUERY[target], connection_id
    return known


# ---- connecting ----


def _init(original: Callable[..., Any]) -> Callable[..., Any]:
    """What is done here around `connect` is part of it: above all 30 ms for a TLS context."""
    timed = sent("pymysql", "mysql.connect", _about)(whole(original))

    def __init__(self: Connection[Any], *args: Any, **kwargs: Any) -> None:  # noqa: N807  # it replaces one
        if current() is None or kwargs.get("defer_connect"):
            original(self, *args, **kwargs)
        else:
            timed(self, *args, **kwargs)

    return __init__


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    timed = sent("pymysql", "mysql.connect", _about)(original)

    def connect(self: Any, sock: Any = None) -> Any:
        try:
            if getattr(self, "_walltime", None) is not None:
                self._walltime = None
        except Exception as ours:
            contain("pymysql", ours)
        return timed(self, sock)

    return connect


# ---- statements ----


def _query(original: Callable[..., Any]) -> Callable[..., Any]:
    def query(self: Any, sql: Any, unbuffered: bool = False) -> Any:
        execution = current()
        if execution is None:
            outside("pymysql")
            return original(self, sql, unbuffered)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            rows = original(self, sql, unbuffered)
        except BaseException as error:
            ended_ns = clock()
            try:
                line, connection_id = _known(self)
                subject = kept(sql if execution.statement is None else execution.statement)
                execution.record(line, subject, started_ns, ended_ns, outer_ns, number(error), connection_id)
            except Exception as ours:
                contain("pymysql", ours)
            raise
        ended_ns = clock()
        try:
            try:
                line, connection_id = self._walltime
            except (AttributeError, TypeError):
                line, connection_id = _known(self)
            subject = sql if execution.statement is None else execution.statement
            if type(subject) is not str or len(subject) > MAX_SQL_CHARS:
                subject = kept(subject)
            if rows >= NO_ROW_COUNT:
                self._result._walltime = Fetch(_server(self), connection_id, subject)
                found = 0
            else:
                found = rows
            execution.record(line, subject, started_ns, ended_ns, outer_ns, None, connection_id, found)
        except Exception as ours:
            contain("pymysql", ours)
        return rows

    return query


def _execute_command(original: Callable[..., Any]) -> Callable[..., Any]:
    def _execute_command(self: Any, command: int, sql: Any) -> Any:
        execution = current()
        if execution is None or command != _COM_QUERY:
            return original(self, command, sql)
        return original(self, command, tag(execution, sql))

    return _execute_command


def _execute(original: Callable[..., Any]) -> Callable[..., Any]:
    """`template`, with PyMySQL's signature: it is on the path of every statement."""

    def execute(self: Any, query: Any, args: Any = None) -> Any:
        execution = current()
        if execution is None:
            return original(self, query, args)
        outer = execution.statement
        if outer is not None and (query is outer or type(query) is not str):
            return original(self, query, args)
        execution.statement = query
        try:
            return original(self, query, args)
        finally:
            execution.statement = outer

    return execute


# ---- what is read later ----


def _next_result(original: Callable[..., Any]) -> Callable[..., Any]:
    def next_result(self: Any, unbuffered: bool = False) -> Any:
        execution = current()
        if execution is None:
            return original(self, unbuffered)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            rows = original(self, unbuffered)
        except BaseException as error:
            ended_ns = clock()
            try:
                fetch = Fetch(*_about(self))
                fetch.read(execution, started_ns, ended_ns, outer_ns, 0, number(error))
            except Exception as ours:
                contain("pymysql", ours)
            raise
        ended_ns = clock()
        try:
            fetch = Fetch(*_about(self))
            if rows >= NO_ROW_COUNT:  # they come one by one, and are counted then
                self._result._walltime = fetch
            fetch.read(execution, started_ns, ended_ns, outer_ns, rows if rows < NO_ROW_COUNT else 0)
        except Exception as ours:
            contain("pymysql", ours)
        return rows

    return next_result


def _fetch(result: Any) -> Fetch:
    """Its reads are one call, also where it is not known what was asked for."""
    fetch: Fetch | None = getattr(result, "_walltime", None)
    if fetch is None:
        fetch = result._walltime = Fetch(None, 0)
    return fetch


def _read_row(original: Callable[..., Any]) -> Callable[..., Any]:
    def read(self: Any) -> Any:
        execution = current()
        if execution is None or not self.unbuffered_active:
            return original(self)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            row = original(self)
        except BaseException as error:
            ended_ns = clock()
            try:
                fetch = _fetch(self)
                fetch.read(execution, started_ns, ended_ns, outer_ns, 0, number(error))
            except Exception as ours:
                contain("pymysql", ours)
            raise
        ended_ns = clock()
        try:
            fetch = _fetch(self)
            fetch.read(execution, started_ns, ended_ns, outer_ns, 0 if row is None else 1)
        except Exception as ours:
            contain("pymysql", ours)
        return row

    return read
