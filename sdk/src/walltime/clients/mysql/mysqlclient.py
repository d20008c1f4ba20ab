"""
mysqlclient (the module MySQLdb): connect, every statement, the rows of unbuffered cursors, commit and rollback, ping.

Its C type `_mysql.connection` cannot be patched; `MySQLdb.connections.Connection`, which inherits from it and is what
`connect` returns, can. So timed is what a cursor does, from sending a statement until its rows are stored, and tagged
what `Connection.query` sends. What the C library sends by itself (SET NAMES, SET autocommit, COMMIT, ROLLBACK) is timed
and stays untagged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import MySQLdb

from walltime.clients.mysql.statements import (
    NO_ROW_COUNT,
    QUERY,
    Fetch,
    counted,
    kept,
    number,
    reads,
    sent,
    sent_statement,
    tagged,
    template,
)
from walltime.core.execution import inherited
from walltime.core.sql_comment import tag
from walltime.errors import contain
from walltime.instrumentation.measure import Measure, first
from walltime.instrumentation.patching import Patch
from walltime.instrumentation.template import Inline, recorded
from walltime.instrumentation.timed import computing, whole
from walltime.redaction.redact import MAX_SQL_CHARS

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.clients.mysql.statements import Read
    from walltime.core.call import Target
    from walltime.instrumentation.measure import Described

REQUIRES: Final = "mysqlclient >= 2.1, < 3"

_COUNTED: Final = "walltime: counted by the cursor"
"""`ExecutionContext.statement` below a cursor's call that counts as a whole."""


def patches() -> list[Patch]:
    if MySQLdb.__name__ != "MySQLdb":  # PyMySQL, by its install_as_MySQLdb
        return []
    from MySQLdb.connections import Connection
    from MySQLdb.cursors import BaseCursor, CursorUseResultMixIn, SSCursor, SSDictCursor

    cursor_query = Measure("mysqlclient", _describe_query, failure=number, counts_outside=False, inline=_CURSOR_QUERY)
    return [
        Patch(Connection, "__init__", _connect),
        Patch(Connection, "query", _query),
        Patch(Connection, "next_result", _next_result),
        Patch(Connection, "autocommit", _autocommit),
        Patch(Connection, "set_character_set", _sends("SET NAMES ?").call),
        Patch(Connection, "select_db", _sends("USE").call),
        Patch(Connection, "commit", sent("mysqlclient", "mysql.commit", _about).call),
        Patch(Connection, "rollback", sent("mysqlclient", "mysql.commit", _about).call),
        Patch(Connection, "ping", sent("mysqlclient", "mysql.ping", _about).call),
        Patch(BaseCursor, "execute", template),
        Patch(BaseCursor, "executemany", template),
        Patch(BaseCursor, "_query", cursor_query.call),
        Patch(BaseCursor, "_do_get_result", _get_result),
        Patch(CursorUseResultMixIn, "fetchone", _reads(lambda row: 0 if row is None else 1).call),
        Patch(CursorUseResultMixIn, "fetchmany", _reads(len).call),
        Patch(CursorUseResultMixIn, "fetchall", _reads(len).call),
        *[Patch(cursor, "_discard", _reads(lambda _: 0).call) for cursor in (SSCursor, SSDictCursor)],
    ]


def _sends(text: str) -> Measure:
    """A method by which the C library sends one statement of its own."""
    return sent("mysqlclient", "mysql.query", _about, text)


def _about(connection: Any) -> tuple[Target | None, int]:
    """
    Read two fields of the C structure and no more: `get_host_info` of a connection that failed crashes the process.

    A host or port from an option file is not seen.
    """
    target, connection_id = known = connection.__dict__.get("_walltime") or (None, 0)
    if connection_id:
        return known
    if target is None:
        target = _target(connection.host, connection.port or 3306, None)
    if connection.open:
        connection_id = connection.thread_id()
        connection._walltime = target, connection_id
    return target, connection_id


def _target(host: object, port: Any, path: object) -> Target:
    """MySQL's library takes the socket for a local server that is not named by its address."""
    return (str(host), int(port)) if host and host != "localhost" else str(path or "localhost")


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    original = computing(sent("mysqlclient", "mysql.connect", _about)).call(whole(original))

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # it replaces one
        try:
            host = args[0] if args else kwargs.get("host")
            self._walltime = _target(host, kwargs.get("port") or 3306, kwargs.get("unix_socket")), 0
        except Exception as ours:
            contain("mysqlclient", ours)
        original(self, *args, **kwargs)

    return __init__


def _query(original: Callable[..., Any]) -> Callable[..., Any]:
    measured = sent_statement("mysqlclient", QUERY, _about, kept).call(tagged(original))

    def query(self: Any, query: Any) -> Any:
        execution = inherited()
        if execution is not None and execution.statement is _COUNTED:
            return original(self, tag(execution, query))
        return measured(self, query)  # no cursor sends it, so it is counted here

    return query


# Inline: a query costs 0.8 µs, by the gate 1.2 µs (stub benchmark).
_CURSOR_QUERY: Final = Inline(
    "_query(self, q)", "q if outer is None else outer",
    before="outer, execution.statement = execution.statement, COUNTED", after="execution.statement = outer",
    known="about(self.connection)",
    usual="type(sql := q if outer is None else outer) is str"
    f" and len(sql) <= {MAX_SQL_CHARS} and 0 <= result < {NO_ROW_COUNT}",
    also="self._walltime = None",
    record=recorded("QUERY[known[0]]", "sql", "known[1]", "result"),
    names={"COUNTED": _COUNTED, "QUERY": QUERY, "about": _about},
)  # fmt: skip


def _describe_query(cursor: Any, sql: Any, rows: Any, error: BaseException | None) -> Described:
    target, connection_id = _about(cursor.connection)
    sql = kept(sql)
    if error is None:
        is_counted = 0 <= rows < NO_ROW_COUNT
        cursor._walltime = None if is_counted else Fetch(target, connection_id, sql)
        rows = rows if is_counted else 0
    return QUERY[target], sql, None, connection_id, rows or 0


def _autocommit(original: Callable[..., Any]) -> Callable[..., Any]:
    measured = _sends("SET AUTOCOMMIT = ?").call(original)

    def autocommit(self: Any, on: Any) -> Any:
        try:
            sends = self.get_autocommit() != bool(on)
        except Exception:  # the driver's to raise
            sends = False
        return measured(self, on) if sends else original(self, on)

    return autocommit


def _next_result(original: Callable[..., Any]) -> Callable[..., Any]:
    measured = reads("mysqlclient", _describe_next_result).call(original)

    def next_result(self: Any) -> Any:
        execution = inherited()
        is_counted = execution is not None and execution.statement is _COUNTED
        return original(self) if is_counted else measured(self)

    return next_result


def _describe_next_result(connection: Any, _args: Any, outcome: Any, error: BaseException | None) -> Read | None:
    if outcome == -1:  # no more: nothing was read, as after nearly every statement
        return None
    fetch = Fetch(*_about(connection))
    if error is None:
        connection._walltime_fetch = fetch
    return fetch, 0


def _get_result(original: Callable[..., Any]) -> Callable[..., Any]:
    measured = reads("mysqlclient", _describe_get_result).call(original)

    def _do_get_result(self: Any, db: Any) -> Any:
        execution = inherited()
        is_counted = execution is not None and execution.statement is _COUNTED
        return original(self, db) if is_counted else measured(self, db)

    return _do_get_result


def _describe_get_result(cursor: Any, args: Any, _result: Any, error: BaseException | None) -> Read | None:
    """The rows behind a `next_result`; those of the first result are part of the query."""
    fetch = first(args).__dict__.get("_walltime_fetch")
    if fetch is None or error is not None:
        return None
    is_counted = 0 <= cursor.rowcount < NO_ROW_COUNT
    cursor._walltime = None if is_counted else fetch
    return fetch, counted(cursor.rowcount)


def _reads(count: Callable[[Any], int]) -> Measure:
    """Return the measure of an unbuffered cursor's method that reads as many rows as `count` returns of its result."""

    def begin(cursor: Any, _args: Any) -> Fetch | None:
        fetch: Fetch | None = cursor.__dict__.get("_walltime")
        return None if cursor._result is None else fetch

    def describe(fetch: Fetch, _args: Any, rows: Any, error: BaseException | None) -> Read:
        return fetch, count(rows) if error is None else 0

    return reads("mysqlclient", describe, begin)
