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

from walltime.clients.mysql.statements import NO_ROW_COUNT, QUERY, Fetch, kept, number, sent, template, whole
from walltime.core.execution import current
from walltime.core.sql_comment import tag
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.call import Target

REQUIRES: Final = "mysqlclient >= 2.1, < 3"

_COUNTED: Final = "walltime: counted by the cursor"
"""`ExecutionContext.statement` below a cursor's call that counts as a whole."""


def patches() -> list[Patch]:
    if MySQLdb.__name__ != "MySQLdb":  # PyMySQL, by its install_as_MySQLdb
        return []
    from MySQLdb.connections import Connection
    from MySQLdb.cursors import BaseCursor, CursorUseResultMixIn, SSCursor, SSDictCursor

    return [
        Patch(Connection, "__init__", lambda original: _connect(whole(original))),
        Patch(Connection, "query", _query),
        Patch(Connection, "next_result", _next_result),
        Patch(Connection, "autocommit", _autocommit),
        Patch(Connection, "set_character_set", _sends("SET NAMES ?")),
        Patch(Connection, "select_db", _sends("USE")),
        Patch(Connection, "commit", sent("mysqlclient", "mysql.commit", _about)),
        Patch(Connection, "rollback", sent("mysqlclient", "mysql.commit", _about)),
        Patch(Connection, "ping", sent("mysqlclient", "mysql.ping", _about)),
        Patch(BaseCursor, "execute", template),
        Patch(BaseCursor, "executemany", template),
        Patch(BaseCursor, "_query", _cursor_query),
        Patch(BaseCursor, "_do_get_result", _do_get_result),
        Patch(CursorUseResultMixIn, "fetchone", _reads(_one)),
        Patch(CursorUseResultMixIn, "fetchmany", _reads(len)),
        Patch(CursorUseResultMixIn, "fetchall", _reads(len)),
        Patch(SSCursor, "_discard", _reads(_none)),
        Patch(SSDictCursor, "_discard", _reads(_none)),
    ]


def _sends(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A method by which the C library sends one statement of its own."""
    return sent("mysqlclient", "mysql.query", _about, text)


# ---- which server, which connection ----


def _about(connection: Any) -> tuple[Target | None, int]:
    """
    Read two fields of the C structure and no more: `get_host_info` of a connection that failed crashes the process.

    A host or port from an option file is not seen.
    """
    target, connection_id = connection.__dict__.get("_walltime") or (None, 0)
    if target is None:
        target = _target(connection.host, connection.port or 3306, None)
    if not connection_id and connection.open:
        connection_id = connection.thread_id()
        connection._walltime = target, connection_id
    return target, connection_id


def _target(host: object, port: Any, path: object) -> Target:
    """MySQL's library takes the socket for a local server that is not named by its address."""
    return (str(host), int(port)) if host and host != "localhost" else str(path or "localhost")


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    timed = sent("mysqlclient", "mysql.connect", _about)(whole(original))

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # it replaces one
        try:
            host = args[0] if args else kwargs.get("host")
            self._walltime = _target(host, kwargs.get("port") or 3306, kwargs.get("unix_socket")), 0
        except Exception as ours:
            contain("mysqlclient", ours)
        timed(self, *args, **kwargs)

    return __init__


# ---- statements ----


def _query(original: Callable[..., Any]) -> Callable[..., Any]:
    def query(self: Any, query: Any) -> Any:
        execution = current()
        if execution is None:
            outside("mysqlclient")
            return original(self, query)
        tagged = tag(execution, query)
        if execution.statement is _COUNTED:
            return original(self, tagged)
        outer_ns = execution.nested_ns  # no cursor sends it, so it is counted here
        started_ns = clock()
        try:
            result = original(self, tagged)
        except BaseException as error:
            ended_ns = clock()
            try:
                target, connection_id = _about(self)
                failure = number(error)
                execution.record(QUERY[target], kept(query), started_ns, ended_ns, outer_ns, failure, connection_id)
            except Exception as ours:
                contain("mysqlclient", ours)
            raise
        ended_ns = clock()
        try:
            target, connection_id = _about(self)
            execution.record(QUERY[target], kept(query), started_ns, ended_ns, outer_ns, None, connection_id)
        except Exception as ours:
            contain("mysqlclient", ours)
        return result

    return query


def _cursor_query(original: Callable[..., Any]) -> Callable[..., Any]:
    def _query(self: Any, q: Any) -> Any:
        execution = current()
        if execution is None:
            return original(self, q)
        outer, execution.statement = execution.statement, _COUNTED
        subject = q if outer is None else outer
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            rows = original(self, q)
        except BaseException as error:
            ended_ns = clock()
            execution.statement = outer
            try:
                target, connection_id = _about(self.connection)
                failure = number(error)
                execution.record(QUERY[target], kept(subject), started_ns, ended_ns, outer_ns, failure, connection_id)
            except Exception as ours:
                contain("mysqlclient", ours)
            raise
        ended_ns = clock()
        execution.statement = outer
        try:
            target, connection_id = _about(self.connection)
            found = rows if 0 <= rows < NO_ROW_COUNT else 0
            execution.record(QUERY[target], kept(subject), started_ns, ended_ns, outer_ns, None, connection_id, found)
            self._walltime = None if found == rows else Fetch(target, connection_id, subject)
        except Exception as ours:
            contain("mysqlclient", ours)
        return rows

    return _query


def _autocommit(original: Callable[..., Any]) -> Callable[..., Any]:
    timed = _sends("SET AUTOCOMMIT = ?")(original)

    def autocommit(self: Any, on: Any) -> Any:
        try:
            sends = self.get_autocommit() != bool(on)
        except Exception:  # the driver's to say
            sends = False
        return timed(self, on) if sends else original(self, on)

    return autocommit


# ---- what is read later ----


def _next_result(original: Callable[..., Any]) -> Callable[..., Any]:
    def next_result(self: Any) -> Any:
        execution = current()
        if execution is None or execution.statement is _COUNTED:
            return original(self)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            outcome = original(self)
        except BaseException as error:
            ended_ns = clock()
            try:
                Fetch(*_about(self)).read(execution, started_ns, ended_ns, outer_ns, 0, number(error))
            except Exception as ours:
                contain("mysqlclient", ours)
            raise
        if outcome == -1:  # no more: nothing was read, as after nearly every statement
            return outcome
        ended_ns = clock()
        try:
            self._walltime_fetch = fetch = Fetch(*_about(self))
            fetch.read(execution, started_ns, ended_ns, outer_ns, 0)
        except Exception as ours:
            contain("mysqlclient", ours)
        return outcome

    return next_result


def _do_get_result(original: Callable[..., Any]) -> Callable[..., Any]:
    """The rows behind a `next_result`; those of the first result are part of the query."""

    def _do_get_result(self: Any, db: Any) -> Any:
        execution = current()
        if execution is None or execution.statement is _COUNTED:
            return original(self, db)
        outer_ns = execution.nested_ns
        started_ns = clock()
        result = original(self, db)
        ended_ns = clock()
        try:
            fetch = db.__dict__.get("_walltime_fetch")
            if fetch is not None:
                is_counted = 0 <= self.rowcount < NO_ROW_COUNT
                fetch.read(execution, started_ns, ended_ns, outer_ns, self.rowcount if is_counted else 0)
                self._walltime = None if is_counted else fetch
        except Exception as ours:
            contain("mysqlclient", ours)
        return result

    return _do_get_result


def _reads(count: Callable[[Any], int]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Wrap a method of unbuffered cursors that reads what `count` says of its result."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def read(self: Any, *args: Any, **kwargs: Any) -> Any:
            execution = current()
            fetch = self.__dict__.get("_walltime")
            if execution is None or fetch is None or self._result is None:
                return original(self, *args, **kwargs)
            outer_ns = execution.nested_ns
            started_ns = clock()
            try:
                rows = original(self, *args, **kwargs)
            except BaseException as error:
                ended_ns = clock()
                try:
                    fetch.read(execution, started_ns, ended_ns, outer_ns, 0, number(error))
                except Exception as ours:
                    contain("mysqlclient", ours)
                raise
            ended_ns = clock()
            try:
                fetch.read(execution, started_ns, ended_ns, outer_ns, count(rows))
            except Exception as ours:
                contain("mysqlclient", ours)
            return rows

        return read

    return wrap


def _one(row: Any) -> int:
    return 0 if row is None else 1


def _none(_result: Any) -> int:
    return 0
