"""
SQLAlchemy: waiting for its pool, on any driver of MySQL. Connecting, pinging and statements are the driver's own lines.

Each checkout is a call of `mysql.pool`, and its time what neither connecting nor a ping inside took: nearly nothing
while connections are free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from walltime.core.call import lines
from walltime.core.execution import current, task_execution
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.call import Target

REQUIRES: Final = "SQLAlchemy >= 2.0, < 3"

_POOL: Final = lines("mysql.pool")
_DIALECTS: Final = frozenset({"mysql", "mariadb"})


def patches() -> list[Patch]:
    return [Patch(QueuePool, "connect", _connect)]


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    def connect(self: Any) -> Any:
        execution = task_execution() if self._is_asyncio else current()
        if execution is None:
            outside("sqlalchemy")
            return original(self)
        if getattr(self._dialect, "name", None) not in _DIALECTS:
            return original(self)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            connection = original(self)
        except BaseException as error:
            ended_ns = clock()
            try:
                # What else can happen went wrong inside, and is the driver's to count.
                failure = "TimeoutError" if isinstance(error, PoolTimeout) else None
                target = self.__dict__.get("_walltime")
                execution.record(_POOL[target], None, started_ns, ended_ns, outer_ns, failure)
            except Exception as ours:
                contain("sqlalchemy", ours)
            raise
        ended_ns = clock()
        try:
            target = self.__dict__.get("_walltime")
            if target is None:
                self._walltime = target = _server(connection.driver_connection)
            execution.record(_POOL[target], None, started_ns, ended_ns, outer_ns)
        except Exception as ours:
            contain("sqlalchemy", ours)
        return connection

    return connect


def _server(connection: Any) -> Target | None:
    """Say where a connection of whichever driver goes; asked once for a pool."""
    path = getattr(connection, "unix_socket", None) or getattr(connection, "_unix_socket", None)
    if path:
        return str(path)
    host = getattr(connection, "_host", None) or getattr(connection, "host", None)
    port = getattr(connection, "_port", None) or getattr(connection, "port", None)
    return (host, port) if isinstance(host, str) and isinstance(port, int) else None
