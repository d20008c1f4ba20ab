"""
PyMySQL: connect, every statement, the rows of unbuffered cursors, commit and rollback, ping.

Timed on the connection, where a statement is sent and its result is read, and tagged below the cursor: a comment added
to what `executemany` is given would break its joining of rows (one statement would become three).
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from pymysql.connections import Connection, MySQLResult
from pymysql.cursors import Cursor

from walltime import native
from walltime.clients.mysql.statements import (
    NO_ROW_COUNT,
    QUERY,
    Fetch,
    next_result,
    number,
    own_calls,
    read,
    row_read,
    sent,
    tagged_command,
    template_or,
)
from walltime.core.execution import current, elsewhere, get_ident, inherited
from walltime.instrumentation.measure import Measure
from walltime.instrumentation.patching import Patch
from walltime.instrumentation.template import Inline, recorded
from walltime.instrumentation.timed import computing, whole
from walltime.redaction.redact import MAX_SQL_CHARS

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.call import Target
    from walltime.instrumentation.measure import Described

REQUIRES: Final = "PyMySQL >= 1.1, < 2"


def patches() -> list[Patch]:
    read_row = replace(row_read("pymysql"), begin=None, inline=_READ_ROW)
    return [
        Patch(Connection, "__init__", _init),
        Patch(Connection, "connect", _connect),
        Patch(Connection, "query", Measure("pymysql", _describe_query, failure=number, inline=_QUERY).call),
        Patch(Connection, "next_result", next_result("pymysql", _about, attrgetter("_result")).call),
        Patch(Connection, "_execute_command", tagged_command(inherited)),
        *own_calls("pymysql", Connection, _about, attrgetter("call"), "set_character_set"),
        Patch(MySQLResult, "_read_rowdata_packet_unbuffered", read_row.call),
        Patch(MySQLResult, "_finish_unbuffered_query", read_row.call),
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


# Inline: a query costs 0.7 µs, by the gate 1.5 µs (stub benchmark); most calls of a page are these.
_QUERY: Final = Inline(
    "query(self, sql, unbuffered=False)", "(sql,)",
    look_if="execution.statement is None",  # with one, `execute` has looked
    known="self._walltime",  # the line and the connection's id; `connect` forgets it
    usual="type(subject := sql if execution.statement is None else execution.statement) is str"
    f" and len(subject) <= {MAX_SQL_CHARS} and result < {NO_ROW_COUNT}",
    record=recorded("known[0]", "subject", "known[1]", "result"),
    native=native.STATEMENT, most=MAX_SQL_CHARS,
)  # fmt: skip


def _describe_query(connection: Any, args: Any, rows: Any, error: BaseException | None) -> Described:
    target, connection_id = _about(connection)
    if error is None:
        connection._walltime = QUERY[target], connection_id
    subject = template_or(*args)
    if error is None and rows >= NO_ROW_COUNT:  # they come one by one, and are counted then
        connection._result._walltime, rows = Fetch(target, connection_id, subject), 0
    return QUERY[target], subject, None, connection_id, rows or 0


# Inline: a row costs 0.7 µs, by the gate 0.9 µs, and a result may have a million.
_READ_ROW: Final = Inline(
    "read_row(self)", aside="not self.unbuffered_active", known="self._walltime",
    record="read(execution, (known, 0 if result is None else 1), None, started_ns, ended_ns, outer_ns)",
    names={"read": read},
)  # fmt: skip


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

    return native.wrapper(native.SCOPE, execute, original)  # type: ignore[no-any-return]
