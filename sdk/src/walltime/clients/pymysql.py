"""
PyMySQL: connect, every statement, commit and rollback.

Timed on the connection, where a statement is sent and its result is read, and tagged below the cursor: a comment added
to what `executemany` is given would break its joining of rows (one statement would become three).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pymysql.connections import Connection
from pymysql.constants import COMMAND
from pymysql.cursors import Cursor

from walltime.call import CONTINUED, lines
from walltime.clients.timed import timed
from walltime.hotpath import clock, current, inside, outside
from walltime.patching import Patch
from walltime.tagging import tag

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.call import Target

REQUIRES: Final = "PyMySQL >= 1.1, < 2"

_CONNECT: Final = lines("mysql.connect")
_QUERY: Final = lines("mysql.query")
_NO_ROW_COUNT: Final = 1 << 63  # an unbuffered result reports 2^64 − 1 rows


def patches() -> list[Patch]:
    return [
        Patch(Connection, "__init__", _init),
        Patch(Connection, "connect", _connect),
        Patch(Connection, "query", _query),
        Patch(Connection, "_execute_command", _execute_command),
        Patch(Connection, "begin", _own_statement("BEGIN")),
        Patch(Connection, "_send_autocommit_mode", _own_statement("SET AUTOCOMMIT = ?")),
        Patch(Connection, "set_character_set", _own_statement("SET NAMES ?")),
        Patch(Connection, "show_warnings", _own_statement("SHOW WARNINGS")),
        Patch(Connection, "commit", timed("pymysql", "mysql.commit", _server, None, _failure)),
        Patch(Connection, "rollback", timed("pymysql", "mysql.commit", _server, None, _failure)),
        Patch(Cursor, "execute", _execute),
        Patch(Cursor, "executemany", _executemany),
    ]


def _own_statement(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A method that sends one statement of its own, past `query`."""
    return timed("pymysql", "mysql.query", _server, text, _failure)


def _init(original: Callable[..., Any]) -> Callable[..., Any]:
    def __init__(self: Connection[Any], *args: Any, **kwargs: Any) -> None:  # noqa: N807  # it replaces one
        strand = current()
        if strand is None:
            return original(self, *args, **kwargs)  # type: ignore[no-any-return]  # None, as of every __init__
        outer_ns, strand.nested_ns = strand.nested_ns, 0
        started_ns = clock()
        try:
            original(self, *args, **kwargs)
        finally:
            # What happens here around `connect` prepares it: above all 30 ms for a TLS context with its certificates.
            server = _server(self) if hasattr(self, "host") else None
            strand.record(_CONNECT[server], CONTINUED, started_ns, clock(), outer_ns)

    return __init__


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    def connect(self: Connection[Any], sock: Any = None) -> Any:
        strand = current()
        if strand is None:
            outside("pymysql")
            return original(self, sock)
        outer_ns, strand.nested_ns = strand.nested_ns, 0
        failure = None
        started_ns = clock()
        try:
            with inside(strand):  # its SET statements are part of the connect
                return original(self, sock)
        except BaseException as error:
            failure = _failure(error)
            raise
        finally:
            strand.record(_CONNECT[_server(self)], None, started_ns, clock(), outer_ns, failure)

    return connect


def _query(original: Callable[..., Any]) -> Callable[..., Any]:
    def query(self: Connection[Any], sql: Any, unbuffered: bool = False) -> Any:
        strand = current()
        if strand is None:
            outside("pymysql")
            return original(self, sql, unbuffered)
        outer_ns, strand.nested_ns = strand.nested_ns, 0
        started_ns = clock()
        try:
            rows = original(self, sql, unbuffered)
        except BaseException as error:
            strand.record(
                _QUERY[_server(self)], strand.statement or sql, started_ns, clock(), outer_ns, _failure(error)
            )
            raise
        strand.record(
            _QUERY[_server(self)], strand.statement or sql, started_ns, clock(), outer_ns, None, 0,
            rows if rows < _NO_ROW_COUNT else 0,
        )  # fmt: skip
        return rows

    return query


def _execute_command(original: Callable[..., Any]) -> Callable[..., Any]:
    def _execute_command(self: Connection[Any], command: int, sql: Any) -> Any:
        strand = current()
        if strand is None or command != COMMAND.COM_QUERY:
            return original(self, command, sql)
        return original(self, command, tag(strand, sql))

    return _execute_command


def _execute(original: Callable[..., Any]) -> Callable[..., Any]:
    def execute(self: Cursor, query: Any, args: Any = None) -> Any:
        strand = current()
        if strand is None or strand.statement is not None:  # within executemany, which has the template
            return original(self, query, args)
        strand.statement = query
        try:
            return original(self, query, args)
        finally:
            strand.statement = None

    return execute


def _executemany(original: Callable[..., Any]) -> Callable[..., Any]:
    def executemany(self: Cursor, query: Any, args: Any) -> Any:
        strand = current()
        if strand is None:
            return original(self, query, args)
        strand.statement = query
        try:
            return original(self, query, args)
        finally:
            strand.statement = None

    return executemany


def _server(connection: Connection[Any]) -> Target:
    if getattr(connection, "unix_socket", None):
        return str(connection.unix_socket)
    return (connection.host, connection.port)


def _failure(error: BaseException) -> str:
    """The server's or the client's error number when there is one, else the exception's class."""
    code = error.args[0] if error.args else None
    return str(code) if type(code) is int else type(error).__name__
