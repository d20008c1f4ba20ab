"""What the wrappers of the MySQL drivers share: lines, error numbers, wrapping with a connection's id, fetching."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from walltime.core.call import Piece, lines
from walltime.core.execution import Inside, current, inside, task_execution
from walltime.instrumentation.timed import Ended, wrap, wrap_async
from walltime.redaction.redact import MAX_SQL_CHARS

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from walltime.core.call import Call, Target
    from walltime.core.execution import ExecutionContext
    from walltime.instrumentation.timed import Wrap

About: TypeAlias = "Callable[[Any], tuple[Target | None, int]]"
"""Says of a driver's connection which server it talks to and its number there; 0 while it has none."""

QUERY: Final = lines("mysql.query")
FETCH: Final = lines("mysql.fetch")

NO_ROW_COUNT: Final = 1 << 63
"""From here on a row count says that there is none: an unbuffered result reports 2^64 − 1."""


_KEPT: Final = 4 * (MAX_SQL_CHARS + 1)
"""Redaction sees that there was more, also of bytes, of which a character may take four."""


def kept(sql: Any) -> Any:
    """The statement as it waits for its export: a megabyte of values is let go, nobody would look at it."""
    return sql[:_KEPT] if (type(sql) is str or type(sql) is bytes) and len(sql) > _KEPT else sql


def number(error: BaseException) -> str:
    """The server's or the client library's error number when there is one, else the exception's class."""
    code = error.args[0] if error.args else None
    return str(code) if type(code) is int else type(error).__name__


def sent(library: str, component: str, about: About, subject: object = None) -> Wrap:
    """
    Return what wraps a method of a connection of which each call is one call of the component.

    Args:
        library: what calls outside of any transaction are counted under.
        subject: the statement that every call sends.
    """
    return wrap(Ended(library, component, about, subject, number))


def sent_async(library: str, component: str, about: About, subject: object = None) -> Wrap:
    """Return what wraps a coroutine method as `sent` wraps a plain one."""
    return wrap_async(Ended(library, component, about, subject, number))


def whole(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method as one call: the statements it sends by the way are part of it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        execution = current()
        if execution is None:
            return original(*args, **kwargs)
        with inside(execution):
            return original(*args, **kwargs)

    return call


def whole_async(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return the coroutine method as one call."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        execution = task_execution()
        if execution is None:
            return await original(*args, **kwargs)
        with inside(execution):
            return await original(*args, **kwargs)

    return call


def template(original: Callable[..., Any]) -> Callable[..., Any]:
    """
    Wrap a cursor's execute or executemany: below it the statement has its values in it.

    An execute within has the same statement, or what executemany made of it, in bytes. Any other is a statement of its
    own: the arguments may come from a generator that asks the server, the driver may ask for the SQL mode.
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
    """Wrap a coroutine method as `template` does a plain one."""

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


class Fetch:
    """
    What is read of a statement's result after its query: one call of `mysql.fetch`, however many reads it takes.

    A loop over a million rows is one line of the detail, and its time is still what was spent reading. It is of a
    statement; of None where one text has several, or a procedure several results, and this is not the first.
    """

    __slots__ = ("_call", "_connection_id", "_counted_by", "_place", "_statement", "_subject", "_target")

    def __init__(self, target: Target | None, connection_id: int, statement: object = None) -> None:
        self._target = target
        self._connection_id = connection_id
        self._statement = statement
        self._subject: tuple[object, ...] = ()
        self._counted_by = 0  # the transaction, by its span id: a result may live longer than it
        self._call: Call | None = None
        self._place = 0

    def read(
        self,
        execution: ExecutionContext,
        started_ns: int,
        ended_ns: int,
        outer_ns: int,
        rows: int,
        failure: str | None = None,
    ) -> None:
        """Add one read; `outer_ns` as in `Transaction.record`."""
        if type(execution) is Inside:
            return
        transaction = execution.transaction
        calls, own_ns = transaction.calls, ended_ns - started_ns + outer_ns - execution.nested_ns
        # What is in the bill already no longer changes, and what branches do is measured by its ends.
        can_grow = failure is None and not (
            transaction.duration_ns or transaction.has_branches or transaction.bill is not None
        )
        call, place = self._call, self._place
        if can_grow and call is not None and place < len(calls) and calls[place] is call:
            line, of, first_ns, _, before_ns, _, connection_id, found = call
            self._call = calls[place] = (
                line, of, first_ns, ended_ns, before_ns + own_ns, None, connection_id, found + rows
            )  # fmt: skip
            execution.nested_ns += own_ns
            return
        span_id = transaction.ids.span_id
        subject: object
        if self._counted_by == span_id:
            subject, transaction.has_pieces = Piece(self._subject), True
        else:
            subject = self._subject = (self._statement,)
            self._counted_by = span_id
        execution.record(
            FETCH[self._target], subject, started_ns, ended_ns, outer_ns, failure, self._connection_id, rows
        )  # fmt: skip
        self._call, self._place = (calls[-1], len(calls) - 1) if can_grow and calls else (None, 0)
