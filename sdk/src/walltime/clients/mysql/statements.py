"""What the wrappers of the MySQL drivers share: how statements, their results and other calls are described."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from walltime import native
from walltime.core.call import Piece, lines
from walltime.core.execution import Inside, current, inherited, task_execution
from walltime.core.sql_comment import SAFE_CHARACTERS, tag
from walltime.core.transaction import Transaction
from walltime.instrumentation.measure import Measure, first
from walltime.instrumentation.patching import Patch
from walltime.redaction.redact import MAX_SQL_CHARS

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from walltime.core.call import Call, Lines, Target
    from walltime.core.execution import ExecutionContext
    from walltime.instrumentation.measure import Described, Wrap

About: TypeAlias = "Callable[[Any], tuple[Target | None, int]]"
"""Returns the server of a driver's connection and the connection's id there; 0 while it has none."""

QUERY: Final = lines("mysql.query")
FETCH: Final = lines("mysql.fetch")
PREPARE: Final = lines("mysql.prepare")

COM_QUERY: Final = 3
NO_ROW_COUNT: Final = 1 << 63
"""From here on a row count means that there is none: an unbuffered result reports 2^64 − 1."""
UNKNOWN: Final = "(prepared statement)"  # that the application executes by its number, not through a cursor
_KEPT_CHARS: Final = MAX_SQL_CHARS + 1
"""Redaction sees that there was more."""
_KEPT_BYTES: Final = 4 * _KEPT_CHARS


def kept(sql: Any) -> Any:
    """Return what is kept of a statement until its export: a megabyte of values is cut, another object's class."""
    kind = type(sql)
    if kind is str:
        return sql if len(sql) <= _KEPT_CHARS else sql[:_KEPT_CHARS]
    if sql is None or (kind is bytes and len(sql) <= _KEPT_BYTES):
        return sql
    if issubclass(kind, str):  # none of its own methods is called
        return str.__getitem__(sql, slice(_KEPT_CHARS))
    for known in (bytes, bytearray):
        if issubclass(kind, known):
            return bytes(known.__getitem__(sql, slice(_KEPT_BYTES)))
    return f"({kind.__name__})"


def number(error: BaseException) -> str:
    """Return the server's or the client library's error number when there is one, else the exception's class."""
    code = error.args[0] if error.args else None
    return str(code) if type(code) is int else type(error).__name__


def counted(rows: Any) -> int:
    """Return a row count; 0 when there is none."""
    return rows if type(rows) is int and 0 <= rows < NO_ROW_COUNT else 0


def template_or(sql: Any) -> Any:
    """Return the running statement as the cursor was given it, without values; `sql` when no cursor executes it."""
    execution = current()
    if execution is not None and execution.statement is not None:
        sql = execution.statement
    return sql if type(sql) is str and len(sql) < _KEPT_CHARS else kept(sql)


# ---- what calls are described as ----


def sent(library: str, component: str, about: About, subject: object = None) -> Measure:
    """
    Return the measure of a connection's method of which each call is one call of the component.

    Args:
        subject: the statement that every call sends.
    """
    at = lines(component)

    def describe(connection: Any, _args: Any, _result: Any, _error: BaseException | None) -> Described:
        target, connection_id = about(connection)
        return at[target], subject, None, connection_id, 0

    return Measure(library, describe, failure=number)


def own_calls(
    library: str, connection: type, about: About, wrap: Callable[[Measure], Wrap], set_charset: str
) -> list[Patch]:
    """Return the patches of what a connection like PyMySQL's sends, not through `query`; `wrap` takes the measure."""
    statements = {
        "begin": "BEGIN", "_send_autocommit_mode": "SET AUTOCOMMIT = ?", set_charset: "SET NAMES ?",
        "show_warnings": "SHOW WARNINGS", "select_db": "USE",
    }  # fmt: skip
    components = {"commit": "mysql.commit", "rollback": "mysql.commit", "ping": "mysql.ping"}
    return [
        *[Patch(connection, name, wrap(sent(library, "mysql.query", about, sql))) for name, sql in statements.items()],
        *[Patch(connection, name, wrap(sent(library, component, about))) for name, component in components.items()],
    ]


def sent_statement(library: str, at: Lines, about: About, subject: Callable[[Any], Any] = template_or) -> Measure:
    """
    Return the measure of a method that sends a statement and returns its row count.

    Args:
        subject: takes the statement that is the first argument.
    """

    def describe(connection: Any, args: Any, rows: Any, _error: BaseException | None) -> Described:
        target, connection_id = about(connection)
        statement = subject(args[0] if type(args) is tuple else first(args))
        count = rows if type(rows) is int else 0
        if count >= NO_ROW_COUNT:  # they come one by one, and are counted then
            connection._walltime = Fetch(target, connection_id, statement)
            count = 0
        return at[target], statement, None, connection_id, count

    return Measure(library, describe, failure=number)


def next_result(library: str, about: About, holder: Callable[[Any], Any]) -> Measure:
    """Return the measure of a connection's `next_result`; `holder` returns what its rows are read from."""

    def describe(connection: Any, _args: Any, rows: Any, error: BaseException | None) -> Read:
        fetch = Fetch(*about(connection))
        if error is None:
            holder(connection)._walltime = fetch
        return fetch, counted(rows)

    return reads(library, describe)


def row_read(library: str, holder: Callable[[Any], Any] | None = None) -> Measure:
    """Return the measure of an unbuffered result's method that reads a row; `holder` as in `next_result`."""

    def begin(result: Any, _args: Any) -> Any:
        return (result if holder is None else holder(result)) if result.unbuffered_active else None

    def describe(of: Any, _args: Any, row: Any, _error: BaseException | None) -> Read:
        return getattr(of, "_walltime", None) or unknown(of), 0 if row is None else 1

    return reads(library, describe, begin)


def unknown(holder: Any) -> Fetch:
    """Keep what is read of a statement that is not known: its reads are one call, too."""
    holder._walltime = fetch = Fetch(None, 0)
    return fetch


# ---- the statement's text ----


def tagged(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that sends its first argument: the statement gets the transaction's comment."""

    def send(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = current()
        if execution is None:
            return original(self, *args, **kwargs)
        if args:
            return original(self, tag(execution, args[0]), *args[1:], **kwargs)
        return original(self, **{name: tag(execution, each) if name in _SQL else each for name, each in kwargs.items()})

    return send


_SQL: Final = frozenset({"query", "statements"})


def tagged_command(execution_context: Callable[[], ExecutionContext | None]) -> Wrap:
    """Return what wraps `_execute_command` of a connection like PyMySQL's, whether it is a coroutine or not."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def _execute_command(self: Any, command: int, sql: Any) -> Any:
            execution = execution_context()
            if execution is None or command != COM_QUERY:
                return original(self, command, sql)
            return original(self, command, tag(execution, sql))

        is_async = execution_context is not inherited
        return _execute_command if is_async else native.tagging(_execute_command, original, COM_QUERY, SAFE_CHARACTERS)

    return wrap


def template(original: Callable[..., Any]) -> Callable[..., Any]:
    """
    Wrap a cursor's execute or executemany: below it the statement has its values in it.

    An execute within has the same statement, or what executemany made of it, in bytes. Any other is a statement of its
    own: the arguments may come from a generator that queries the server, the driver may query the SQL mode.
    """

    def execute(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = current()
        if execution is None or not args:
            return original(self, *args, **kwargs)
        query, outer = args[0], execution.statement
        if outer is not None and (query is outer or type(query) is not str):
            return original(self, *args, **kwargs)
        execution.statement = query
        try:
            return original(self, *args, **kwargs)
        finally:
            execution.statement = outer

    return execute


def template_async(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Wrap a coroutine method as `template` wraps a plain one."""

    async def execute(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = task_execution()
        if execution is None or not args:
            return await original(self, *args, **kwargs)
        query, outer = args[0], execution.statement
        if outer is not None and (query is outer or type(query) is not str):
            return await original(self, *args, **kwargs)
        execution.statement = query
        try:
            return await original(self, *args, **kwargs)
        finally:
            execution.statement = outer

    return execute


# ---- what is read later ----


class Fetch:
    """
    What is read of a statement's result after its query: one call of `mysql.fetch`, however many reads it takes.

    A loop over a million rows is one call of the detail, and its time is what was spent reading. It is of a statement;
    of None where one text has several, or a procedure several results, and this is not the first.
    """

    __slots__ = ("call", "connection_id", "counted_by", "place", "statement", "subject", "target")

    def __init__(self, target: Target | None, connection_id: int, statement: object = None) -> None:
        self.target = target
        self.connection_id = connection_id
        self.statement = statement
        self.subject: tuple[object, ...] = ()
        self.counted_by = 0  # the transaction, by its span id: a result may live longer than it
        self.call: Call | None = None
        self.place = 0


Read: TypeAlias = tuple[Fetch, int]
"""(fetch, rows): what a read is described as."""


def reads(library: str, describe: Callable[..., Any], begin: Callable[..., Any] | None = None) -> Measure:
    """Return the measure of a method that reads rows; `describe` returns a `Read`."""
    return Measure(library, describe, begin, read, number, counts_outside=False)


def read(
    execution: ExecutionContext, described: Read, failure: str | None, started_ns: int, ended_ns: int, outer_ns: int
) -> None:
    """Add one read to its call; `outer_ns` as in `Transaction.record`."""
    if type(execution) is Inside:
        return
    fetch, rows = described
    transaction = execution if type(execution) is Transaction else execution.transaction  # its property costs 60 ns
    calls = transaction.calls
    # What is in the bill already no longer changes, and what branches do is measured by its ends.
    can_grow = failure is None and not (
        transaction.duration_ns or transaction.has_branches or transaction.bill is not None
    )
    call, place = fetch.call, fetch.place
    if can_grow and call is not None and place < len(calls) and calls[place] is call:
        own_ns = ended_ns - started_ns + outer_ns - execution.nested_ns
        line, of, first_ns, _, before_ns, _, connection_id, matched = call
        fetch.call = calls[place] = (
            line, of, first_ns, ended_ns, before_ns + own_ns, None, connection_id, matched + rows
        )  # fmt: skip
        execution.nested_ns += own_ns
        return
    span_id = transaction.ids.span_id
    subject: object
    if fetch.counted_by == span_id:
        subject, transaction.has_pieces = Piece(fetch.subject), True
    else:
        subject = fetch.subject = (fetch.statement,)
        fetch.counted_by = span_id
    line = FETCH[fetch.target]
    execution.record(line, subject, started_ns, ended_ns, outer_ns, failure, fetch.connection_id, rows)
    fetch.call, fetch.place = (calls[-1], len(calls) - 1) if can_grow and calls else (None, 0)
