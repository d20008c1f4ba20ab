"""
redis-py, plain and asyncio: every command, pipelines and transactions, connecting, waiting for a connection.

Timed where a command is asked for, so that retries, their pauses and the way through the pool are in its time. A
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
from walltime.clients.cache.redis_calls import (
    PIPELINE,
    TRANSACTION,
    Answered,
    Batch,
    timed_command,
    timed_command_async,
    timed_pipeline,
    timed_pipeline_async,
)
from walltime.clients.cache.redis_servers import peer, remembered, remembered_async, server, server_of_pool
from walltime.core.call import lines
from walltime.core.execution import current, task_execution
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.instrumentation.patching import Patch
from walltime.instrumentation.pooled import waited, waited_async
from walltime.instrumentation.timed import class_name, timed, timed_async

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from walltime.clients.cache.redis_commands import Arguments
    from walltime.core.call import Target
    from walltime.core.execution import ExecutionContext

REQUIRES: Final = "redis >= 5.0, < 9"

_CONNECT: Final = lines("redis.connect")
_CONNECTING: Final = (
    "connect_check_health" if hasattr(connection.AbstractConnection, "connect_check_health") else "connect"
)
"""What connects and shakes hands, once an attempt; before redis-py 7 there is nothing below the retries."""
_ANSWERS: Final = "_walltime_answers"


def patches() -> list[Patch]:
    command, pipeline = timed_command(_asked_of), timed_pipeline(_queued, _settled)
    listen = timed("redis", "redis.listen", server)
    command_async, pipeline_async = timed_command_async(_asked_of), timed_pipeline_async(_queued, _settled)
    listen_async = timed_async("redis", "redis.listen", server)
    return [
        Patch(client.Redis, "execute_command", command),
        Patch(client.Pipeline, "immediate_execute_command", command),
        Patch(client.Pipeline, "execute", pipeline),
        Patch(client.Pipeline, "raise_first_error", _raise_first_error),
        Patch(client.PubSub, "execute_command", command),
        Patch(client.PubSub, "parse_response", listen),
        Patch(connection.AbstractConnection, _CONNECTING, _connect),
        Patch(connection.BlockingConnectionPool, "get_connection", waited("redis.pool", server_of_pool)),
        Patch(sentinel.SentinelConnectionPool, "get_connection", remembered),
        Patch(asynchronous.Redis, "execute_command", command_async),
        Patch(async_client.Pipeline, "immediate_execute_command", command_async),
        Patch(async_client.Pipeline, "execute", pipeline_async),
        Patch(async_client.Pipeline, "raise_first_error", _raise_first_error),
        Patch(async_client.PubSub, "execute_command", command_async),
        Patch(async_client.PubSub, "parse_response", listen_async),
        Patch(async_connection.AbstractConnection, _CONNECTING, _connect_async),
        Patch(async_connection.BlockingConnectionPool, "get_connection", waited_async("redis.pool", server_of_pool)),
        Patch(async_sentinel.SentinelConnectionPool, "get_connection", remembered_async),
        *redis_cluster.patches(),
    ]


def _asked_of(client: Any, arguments: Arguments) -> tuple[Target | None, Arguments]:
    return server(client), arguments


# ---- pipelines ----


def _queued(pipeline: Any, _arguments: Arguments) -> Batch | None:
    commands = [arguments for arguments, _ in pipeline.command_stack]
    if not commands and not pipeline.watching:
        return None
    own = vars(pipeline)  # `transaction` is also the name of a method
    is_transaction = own.get("transaction") or own.get("is_transaction") or pipeline.explicit_transaction
    return Batch(TRANSACTION if is_transaction else PIPELINE, commands)


def _settled(pipeline: Any, _arguments: Arguments, answers: Any, error: BaseException | None) -> Answered:
    kept = vars(pipeline).pop(_ANSWERS, None)
    return Answered(server(pipeline), answers if error is None else kept)


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


# ---- connecting ----


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    def connect(self: Any, *args: Any, **options: Any) -> Any:
        execution = current()
        if execution is None or getattr(self, "_sock", None) is not None:  # asked for each command; it is connected
            return original(self, *args, **options)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            nothing = original(self, *args, **options)
        except BaseException as error:
            try:
                _connected(execution, self, error, started_ns, clock(), outer_ns)
            except Exception as ours:
                contain("redis", ours)
            raise
        try:
            _connected(execution, self, None, started_ns, clock(), outer_ns)
        except Exception as ours:
            contain("redis", ours)
        return nothing

    return connect


def _connect_async(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def connect(self: Any, *args: Any, **options: Any) -> Any:
        execution = task_execution()
        if execution is None or getattr(self, "is_connected", False):
            return await original(self, *args, **options)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            nothing = await original(self, *args, **options)
        except BaseException as error:
            try:
                _connected(execution, self, error, started_ns, clock(), outer_ns)
            except Exception as ours:
                contain("redis", ours)
            raise
        try:
            _connected(execution, self, None, started_ns, clock(), outer_ns)
        except Exception as ours:
            contain("redis", ours)
        return nothing

    return connect


def _connected(
    execution: ExecutionContext, to: Any, error: BaseException | None, started_ns: int, ended_ns: int, outer_ns: int
) -> None:
    failure = None if error is None else class_name(error)
    execution.record(_CONNECT[peer(to)], None, started_ns, ended_ns, outer_ns, failure)
