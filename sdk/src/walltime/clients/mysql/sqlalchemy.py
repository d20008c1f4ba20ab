"""
SQLAlchemy: waiting for its pool, on any driver of MySQL. Connecting, pinging and statements are the driver's own calls.

Each checkout is a call of `mysql.pool`, and its time what neither connecting nor a ping inside took: nearly nothing
while connections are free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from walltime.core.call import lines
from walltime.core.execution import task_execution
from walltime.instrumentation.measure import Measure
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.call import Target
    from walltime.instrumentation.measure import Described

REQUIRES: Final = "SQLAlchemy >= 2.0, < 3"

_POOL: Final = lines("mysql.pool")
_DIALECTS: Final = frozenset({"mysql", "mariadb"})


def patches() -> list[Patch]:
    return [Patch(QueuePool, "connect", _connect)]


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    original = Measure("sqlalchemy", _describe, _begin, failure=_failure).call(original)

    def connect(self: Any) -> Any:
        if self._is_asyncio:
            task_execution()  # the task gets an execution context of its own
        return original(self)

    return connect


def _begin(pool: Any, _args: Any) -> Any:
    return pool if getattr(pool._dialect, "name", None) in _DIALECTS else None


def _describe(pool: Any, _args: Any, connection: Any, error: BaseException | None) -> Described:
    target = pool.__dict__.get("_walltime")
    if target is None and error is None:
        pool._walltime = target = _server(connection.driver_connection)
    return _POOL[target], None, None, 0, 0


def _failure(error: BaseException) -> str | None:
    return "TimeoutError" if isinstance(error, PoolTimeout) else None  # any other is inside, the driver's to count


def _server(connection: Any) -> Target | None:
    """Return the server of a connection of any driver; looked up once for a pool."""
    path = getattr(connection, "unix_socket", None) or getattr(connection, "_unix_socket", None)
    if path:
        return str(path)
    host = getattr(connection, "_host", None) or getattr(connection, "host", None)
    port = getattr(connection, "_port", None) or getattr(connection, "port", None)
    return (host, port) if isinstance(host, str) and isinstance(port, int) else None
