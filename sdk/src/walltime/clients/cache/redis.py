"""
redis-py, plain and asyncio: every command, pipelines and transactions, connecting, waiting for a connection.

Timed where the application calls, so that retries, their pauses and the way through the pool are in its time. A
pipeline is one call, `redis.pipeline` or `redis.transaction`, and has all the time; its commands are counted on their
own lines, without time. What is different in a cluster is in redis_cluster.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import redis.asyncio as asynchronous
from redis import client, connection, sentinel
from redis.asyncio import client as async_client
from redis.asyncio import connection as async_connection
from redis.asyncio import sentinel as async_sentinel

from walltime.clients.cache import redis_cluster
from walltime.clients.cache.redis_calls import PIPELINE, TRANSACTION, Answered, Batch, command, pipeline
from walltime.clients.cache.redis_servers import (
    chosen_by_sentinel,
    chosen_by_sentinel_async,
    peer,
    server,
    server_of_pool,
)
from walltime.core.call import lines
from walltime.core.execution import current
from walltime.errors import contain
from walltime.instrumentation.measure import Measure
from walltime.instrumentation.patching import Patch
from walltime.instrumentation.timed import timed, waited

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.clients.cache.redis_commands import Arguments
    from walltime.instrumentation.measure import Described

REQUIRES: Final = "redis >= 5.0, < 9"

_CONNECT: Final = lines("redis.connect")
_CONNECTING: Final = (
    "connect_check_health" if hasattr(connection.AbstractConnection, "connect_check_health") else "connect"
)
"""What connects and shakes hands, once an attempt; before redis-py 7 there is nothing below the retries."""
_ANSWERS: Final = "_walltime_answers"


def patches() -> list[Patch]:
    one, several = command(), pipeline(_queued, _settled)
    listen, pool = timed("redis", "redis.listen", server), waited("redis.pool", server_of_pool)
    connect = Measure("redis", _describe_connect, _unless_connected, counts_outside=False)
    connect_async = Measure("redis", _describe_connect, _unless_connected_async, counts_outside=False)
    return [
        Patch(client.Redis, "execute_command", one.call),
        Patch(client.Pipeline, "immediate_execute_command", one.call),
        Patch(client.Pipeline, "execute", several.call),
        Patch(client.Pipeline, "raise_first_error", _raise_first_error),
        Patch(client.PubSub, "execute_command", one.call),
        Patch(client.PubSub, "parse_response", listen.call),
        Patch(connection.AbstractConnection, _CONNECTING, connect.call),
        Patch(connection.BlockingConnectionPool, "get_connection", pool.call),
        Patch(sentinel.SentinelConnectionPool, "get_connection", chosen_by_sentinel),
        Patch(asynchronous.Redis, "execute_command", one.awaited),
        Patch(async_client.Pipeline, "immediate_execute_command", one.awaited),
        Patch(async_client.Pipeline, "execute", several.awaited),
        Patch(async_client.Pipeline, "raise_first_error", _raise_first_error),
        Patch(async_client.PubSub, "execute_command", one.awaited),
        Patch(async_client.PubSub, "parse_response", listen.awaited),
        Patch(async_connection.AbstractConnection, _CONNECTING, connect_async.awaited),
        Patch(async_connection.BlockingConnectionPool, "get_connection", pool.awaited),
        Patch(async_sentinel.SentinelConnectionPool, "get_connection", chosen_by_sentinel_async),
        *redis_cluster.patches(),
    ]


def _queued(pipeline: Any, _arguments: Arguments) -> Batch | None:
    commands = [arguments for arguments, _ in pipeline.command_stack]
    if not commands and not pipeline.watching:
        return None
    own = vars(pipeline)  # `transaction` is also the name of a method
    is_transaction = own.get("transaction") or own.get("is_transaction") or pipeline.explicit_transaction
    return Batch(TRANSACTION if is_transaction else PIPELINE, commands)


def _settled(pipeline: Any, _arguments: Arguments, answers: Any, error: BaseException | None) -> Answered:
    of_failed = vars(pipeline).pop(_ANSWERS, None)
    return Answered(server(pipeline), answers if error is None else of_failed)


def _raise_first_error(original: Callable[..., Any]) -> Callable[..., Any]:
    """All commands were executed, one failed, and `execute` is about to raise that: the answers are for `_settled`."""

    def raise_first_error(self: Any, commands: Any, response: Any) -> Any:
        try:
            return original(self, commands, response)
        except BaseException:
            try:
                if current() is not None:
                    vars(self)[_ANSWERS] = response
            except Exception as ours:
                contain("redis", ours)
            raise

    return raise_first_error


def _unless_connected(connection: Any, _args: Any) -> Any:
    return connection if getattr(connection, "_sock", None) is None else None  # called for each command


def _unless_connected_async(connection: Any, _args: Any) -> Any:
    return None if getattr(connection, "is_connected", False) else connection


def _describe_connect(connection: Any, _args: Any, _result: Any, _error: BaseException | None) -> Described:
    return _CONNECT[peer(connection)], None, None, 0, 0
