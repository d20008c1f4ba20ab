"""
PyMySQL: connect, every statement, the rows of unbuffered cursors, commit and rollback, ping.

Timed on the connection, where a statement is sent and its result is read, and tagged below the cursor: a comment added
to what `executemany` is given would break its joining of rows (one statement would become three).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from pymysql.connections import Connection, MySQLResult
from pymysql.cursors import Cursor

from walltime.clients.mysql.statements import (
    NO_ROW_COUNT,
    QUERY,
    Fetch,
    kept,
    next_result,
    own_calls,
    read,
    row_read,
    sent,
    sent_statement,
    tagged_command,
    unknown,
)
from walltime.core.execution import current, elsewhere, get_ident, inherited
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.patching import Patch
from walltime.instrumentation.timed import computing, whole
from walltime.redaction.redact import MAX_SQL_CHARS

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.call import Line, Target

REQUIRES: Final = "PyMySQL >= 1.1, < 2"


def patches() -> list[Patch]:
    return [
        Patch(Connection, "__init__", _init),
        Patch(Connection, "connect", _connect),
        Patch(Connection, "query", _query),
        Patch(Connection, "next_result", next_result("pymysql", _about, attrgetter("_result")).call),
        Patch(Connection, "_execute_command", tagged_command(inherited)),
        *own_calls("pymysql", Connection, _about, attrgetter("call"), "set_character_set"),
        Patch(MySQLResult, "_read_rowdata_packet_unbuffered", _read_row),
        Patch(MySQLResult, "_finish_unbuffered_query", _read_row),
        Patch(Cursor, "execute", _execute),
        Patch(Cursor, "executemany", _execute),
    ]


def _about(connection: Any) -> tuple[Target | None, int]:
    thread_id = getattr(connection, "server_thread_id", None)
    if getattr(connection, "unix_socket", None):
        target: Target | None = str(connection.unix_socket)
    else:
        target = (connection.host, connection.port) if hasattr(connection, "host") else None
    return target, thread_id[0] if thread_id else 0


def _known(connection: Any) -> tuple[Line, int]:
    """Find out once for a connection what each of its queries is recorded with; `connect` forgets it."""
    target, connection_id = _about(connection)
    connection._walltime = known = QUERY[target], connection_id
    return known


def _init(original: Callable[..., Any]) -> Callable[..., Any]:
    """What is done here around `connect` is part of it: above all 30 ms for a TLS context."""
    measured = computing(sent("pymysql", "mysql.connect", _about)).call(whole(original))

    def __init__(self: Connection[Any], *args: Any, **kwargs: Any) -> None:  # noqa: N807  # it replaces one
        if current() is None or kwargs.get("defer_connect"):
            original(self, *args, **kwargs)
        else:
            measured(self, *args, **kwargs)

    return __init__


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    original = computing(sent("pymysql", "mysql.connect", _about)).call(whole(original))

    def connect(self: Any, sock: Any = None) -> Any:
        if hasattr(self, "_walltime"):
            self._walltime = None
        return original(self, sock)

    return connect


# Inline: execute and query together cost 1.1 µs, by the gate 2.1 µs (stub benchmark); most calls of a page are these.
def _query(original: Callable[..., Any]) -> Callable[..., Any]:
    failed = sent_statement("pymysql", QUERY, _about).end

    def query(self: Any, sql: Any, unbuffered: bool = False) -> Any:
        execution = inherited()
        if execution is not None and execution.statement is None and execution.thread != get_ident():
            execution = elsewhere(execution)  # with a statement, `execute` has looked
        if execution is None:
            outside("pymysql")
            return original(self, sql, unbuffered)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            rows = original(self, sql, unbuffered)
        except BaseException as error:
            failed(execution, started_ns, clock(), outer_ns, self, (sql,), None, error)
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
                self._result._walltime = Fetch(_about(self)[0], connection_id, subject)
                rows_read = 0
            else:
                rows_read = rows
            execution.record(line, subject, started_ns, ended_ns, outer_ns, None, connection_id, rows_read)
        except Exception as ours:
            contain("pymysql", ours)
        return rows

    return query


# Inline: a row costs 0.6 µs, by the gate 0.9 µs, and a result may have a million.
def _read_row(original: Callable[..., Any]) -> Callable[..., Any]:
    failed = row_read("pymysql").end

    def read_row(self: Any) -> Any:
        execution = inherited()
        if execution is not None and execution.thread != get_ident():
            execution = elsewhere(execution)
        if execution is None or not self.unbuffered_active:
            return original(self)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            row = original(self)
        except BaseException as error:
            failed(execution, started_ns, clock(), outer_ns, self, (), None, error)
            raise
        ended_ns = clock()
        try:
            fetch = getattr(self, "_walltime", None) or unknown(self)
            read(execution, (fetch, 0 if row is None else 1), None, started_ns, ended_ns, outer_ns)
        except Exception as ours:
            contain("pymysql", ours)
        return row

    return read_row


def _execute(original: Callable[..., Any]) -> Callable[..., Any]:
    """`template`, with PyMySQL's signature: it is on the path of every statement."""

    def execute(self: Any, query: Any, args: Any = None) -> Any:
        execution = inherited()
        if execution is not None and execution.thread != get_ident():
            execution = elsewhere(execution)
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
