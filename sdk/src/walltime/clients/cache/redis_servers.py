"""Which server a client, a pool or a connection of redis-py talks to. For clients/cache/redis*.py."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from walltime.errors import contain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from walltime.core.call import Target

_HOST: Final = "localhost"
_PORT: Final = 6379
"""Defaults of a pool that names no server."""
_by_sentinel: ContextVar[Target | None] = ContextVar("walltime_by_sentinel", default=None)
"""The server of the last connection from a pool that asks a sentinel, in this thread or task."""


def server(client: Any) -> Target | None:
    """Return the server of anything with a connection pool."""
    return server_of_pool(client.connection_pool)


def server_of_pool(pool: Any) -> Target | None:
    settings = pool.connection_kwargs
    host = settings.get("host")
    if host is not None:
        return host, settings.get("port", _PORT)
    path: str | None = settings.get("path")
    if path is not None:
        return path
    if "connection_pool" in settings:  # of a sentinel: each connection may go to another server
        return _by_sentinel.get()
    return _HOST, settings.get("port", _PORT)


def peer(connection: Any) -> Target:
    path: str | None = getattr(connection, "path", None)
    return (connection.host, connection.port) if path is None else path


def chosen_by_sentinel(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `get_connection` of a pool that asks a sentinel: keep which server it was for."""

    def get_connection(self: Any, *args: Any, **options: Any) -> Any:
        _keep(None)
        connection = original(self, *args, **options)
        _keep(connection)
        return connection

    return get_connection


def chosen_by_sentinel_async(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Wrap a coroutine `get_connection` as `chosen_by_sentinel` wraps a plain one."""

    async def get_connection(self: Any, *args: Any, **options: Any) -> Any:
        _keep(None)
        connection = await original(self, *args, **options)
        _keep(connection)
        return connection

    return get_connection


def _keep(connection: Any) -> None:
    try:
        _by_sentinel.set(None if connection is None else peer(connection))
    except Exception as ours:
        contain("redis", ours)
