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

from walltime.clients.mysql import statements
from walltime.clients.mysql.statements import PREPARE, QUERY, UNKNOWN, Fetch, counted, number, sent, tagged, template
from walltime.instrumentation.measure import Measure, first
from walltime.instrumentation.patching import Patch
from walltime.instrumentation.timed import computing, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.clients.mysql.statements import Read
    from walltime.core.call import Lines, Target
    from walltime.core.execution import ExecutionContext
    from walltime.instrumentation.measure import Described, Wrap

REQUIRES: Final = "mysql-connector-python >= 8.0"


def patches() -> list[Patch]:
    next_result = statements.reads("mysql_connector", _describe_next_result)
    pure = [
        *_of(MySQLConnection),
        Patch(MySQLConnection, "cmd_query_iter", _query_iter),
        Patch(MySQLConnection, "cmd_ping", sent("mysql_connector", "mysql.ping", _about).call),
        *_templates(MySQLCursor, MySQLCursorPrepared),
        Patch(MySQLCursor, "nextset", next_result.call),
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
        Patch(CMySQLConnection, "is_connected", sent("mysql_connector", "mysql.ping", _about).call),
        Patch(CMySQLConnection, "ping", sent("mysql_connector", "mysql.ping", _about).call),
        Patch(CMySQLConnection, "next_result", next_result.call),
        *_templates(CMySQLCursor, CMySQLCursorPrepared),
    ]


def _of(connection: type) -> list[Patch]:
    return [
        Patch(connection, "connect", lambda connect: computing(_sent("mysql.connect")).call(whole(connect))),
        Patch(connection, "cmd_query", _query),
        Patch(connection, "cmd_init_db", sent("mysql_connector", "mysql.query", _about, "USE").call),
        Patch(connection, "cmd_stmt_prepare", _measure(_statement(PREPARE, first)).call),
        Patch(connection, "cmd_stmt_reset", sent("mysql_connector", "mysql.reset", _about).call),
        Patch(
            connection,
            "cmd_stmt_execute",
            _measure(_statement(QUERY, _prepared)).call,
        ),
        Patch(connection, "get_rows", statements.reads("mysql_connector", _describe_rows).call),
        Patch(connection, "commit", _sends("mysql.commit")),
        Patch(connection, "rollback", _sends("mysql.commit")),
        Patch(connection, "reset_session", _sends("mysql.reset")),
    ]


def _templates(cursor: type, prepared: type) -> list[Patch]:
    return [
        Patch(cursor, "execute", template),
        Patch(cursor, "executemany", template),
        Patch(prepared, "execute", template),
    ]


def _sends(component: str) -> Wrap:
    """A method that is one call of the component, with the statements it sends."""
    return lambda original: _sent(component).call(whole(original))


def _sent(component: str) -> Measure:
    return sent("mysql_connector", component, _about)


def _about(connection: Any) -> tuple[Target | None, int]:
    handshake = connection.__dict__.get("_handshake") or {}
    path = connection._unix_socket
    target = str(path) if path else (connection._host, connection._port)
    return target, int(handshake.get("server_threadid") or 0)


def _measure(describe: Callable[..., Described]) -> Measure:
    return Measure("mysql_connector", describe, failure=number)


def _statement(at: Lines, subject: Callable[[Any], Any]) -> Callable[..., Described]:
    """Describe a statement, and have the rows counted that are read of it later; `subject` takes the arguments."""

    def describe(connection: Any, args: Any, result: Any, _error: BaseException | None) -> Described:
        target, connection_id = _about(connection)
        statement = statements.kept(subject(args))
        connection._walltime = Fetch(target, connection_id, statement)
        return at[target], statement, None, connection_id, _affected(result)

    return describe


def _prepared(_args: Any) -> Any:
    return statements.template_or(UNKNOWN)


def _affected(result: Any) -> int:
    return counted(result.get("affected_rows", 0)) if isinstance(result, dict) else 0


_describe_query: Final = _statement(QUERY, lambda args: statements.template_or(first(args)))


def _query(original: Callable[..., Any]) -> Callable[..., Any]:
    return _measure(_describe_query).call(tagged(original))


class _Results:
    """The results of one text that are iterated: the first is the query's, each further one is fetched."""

    def __init__(self, connection: Any, args: Any) -> None:
        self.connection = connection
        self.text = first(args)
        self.is_first = True


def _query_iter(original: Callable[..., Any]) -> Callable[..., Any]:
    return Measure("mysql_connector", _describe_result, _Results, _record_result, number).iterated(tagged(original))


def _describe_result(results: _Results, _args: Any, result: Any, error: BaseException | None) -> Any:
    if result is None and error is None:  # the end
        return None
    if results.is_first:
        results.is_first = False
        return _describe_query(results.connection, (results.text,), result, error)
    connection = results.connection
    connection._walltime = fetch = Fetch(*_about(connection))
    return fetch, _affected(result)


def _record_result(
    execution: ExecutionContext, described: Any, failure: str | None, started_ns: int, ended_ns: int, outer_ns: int
) -> None:
    if type(described[0]) is Fetch:
        statements.read(execution, described, failure, started_ns, ended_ns, outer_ns)
    else:
        line, subject, _, connection_id, rows = described
        execution.record(line, subject, started_ns, ended_ns, outer_ns, failure, connection_id, rows)


def _describe_rows(connection: Any, _args: Any, result: Any, error: BaseException | None) -> Read:
    fetch = connection.__dict__.get("_walltime")
    if fetch is None:
        connection._walltime = fetch = Fetch(*_about(connection))
    return fetch, len(result[0]) if error is None else 0


def _describe_next_result(of: Any, _args: Any, is_one: Any, error: BaseException | None) -> Read | None:
    """The next of several results: a method of the C connection, in the pure one of the cursor."""
    if not is_one and error is None:
        return None
    connection = getattr(of, "_connection", None) or of
    connection._walltime = fetch = Fetch(*_about(connection))
    return fetch, 0
