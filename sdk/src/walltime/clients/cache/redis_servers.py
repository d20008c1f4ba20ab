"""Which server a client, a pool or a connection of redis-py talks to. For clients/redis*.py."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from walltime.errors import contain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from walltime.core.call import Target

_HOST: Final = "localhost"
_PORT: Final = 6379
"""Of a pool that is not told of any."""
_by_sentinel: ContextVar[Target | None] = ContextVar("walltime_by_sentinel", default=None)
"""Where a pool that asks a sentinel last gave a connection to, in this thread or task."""


def server(client: Any) -> Target | None:
    """The server of anything with a connection pool."""
    return server_of_pool(client.connection_pool)


def server_of_pool(pool: Any) -> Target | None:
    """The server of a pool's connections."""
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
    """The server a connection is to."""
    path: str | None = getattr(connection, "path", None)
    return (connection.host, connection.port) if path is None else path


def remembered(original: Callable[..., Any]) -> Callable[..., Any]:
    """What wraps `get_connection` of a pool that asks a sentinel."""

    def get_connection(self: Any, *args: Any, **options: Any) -> Any:
        try:
            _by_sentinel.set(None)
        except Exception as ours:
            contain("redis", ours)
        connection = original(self, *args, **options)
        try:
            _by_sentinel.set(peer(connection))
        except Exception as ours:
            contain("redis", ours)
        return connection

    return get_connection


def remembered_async(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """What wraps a coroutine `get_connection` as `remembered` wraps a plain one."""

    async def get_connection(self: Any, *args: Any, **options: Any) -> Any:
        try:
            _by_sentinel.set(None)
        except Exception as ours:
            contain("redis", ours)
        connection = await original(self, *args, **options)
        try:
            _by_sentinel.set(peer(connection))
        except Exception as ours:
            contain("redis", ours)
        return connection

    return get_connection
