"""
redis-py in a cluster: each command, pipeline and transaction where it goes to a node.

A cluster's client does not send through `redis.Redis`, so clients/redis.py sees only what it asks about the cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redis import cluster
from redis.asyncio import cluster as async_cluster

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
from walltime.clients.cache.redis_servers import peer
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from walltime.clients.cache.redis_commands import Arguments
    from walltime.core.call import Target


def patches() -> list[Patch]:
    found = [
        Patch(cluster.RedisCluster, "_execute_command", timed_command(_sent_to)),
        Patch(cluster.NodeCommands, "read", timed_pipeline(_read_from, _has_read)),
        Patch(async_cluster.RedisCluster, "_execute_command", timed_command_async(_sent_to)),
        Patch(async_cluster.ClusterNode, "execute_pipeline", timed_pipeline_async(_sent_with, _was_answered)),
    ]
    transaction = getattr(cluster, "TransactionStrategy", None)  # newer than redis-py 6.0
    if transaction is not None:
        wrap = timed_pipeline(_between_multi_and_exec, _was_executed)
        found.append(Patch(transaction, "_execute_transaction", wrap))
    async_transaction = getattr(async_cluster, "TransactionStrategy", None)
    if async_transaction is not None:
        wrap = timed_pipeline_async(_between_multi_and_exec, _was_executed)
        found.append(Patch(async_transaction, "_execute_transaction", wrap))
    return found


def _sent_to(_client: Any, arguments: Arguments) -> tuple[Target | None, Arguments]:
    node, *command = arguments
    return (node.host, node.port), tuple(command)


def _read_from(node_commands: Any, _arguments: Arguments) -> Batch | None:
    """One node's share of a pipeline: all are written first, the waiting is in reading."""
    return Batch(PIPELINE, [command.args for command in node_commands.commands])


def _has_read(node_commands: Any, _arguments: Arguments, _result: Any, _error: BaseException | None) -> Answered:
    return Answered(peer(node_commands.connection), [command.result for command in node_commands.commands])


def _sent_with(_node: Any, arguments: Arguments) -> Batch | None:
    return Batch(PIPELINE, [command.args for command in arguments[0]])


def _was_answered(node: Any, arguments: Arguments, _result: Any, error: BaseException | None) -> Answered:
    answers = [command.result for command in arguments[0]] if error is None else None
    return Answered((node.host, node.port), answers)


def _between_multi_and_exec(_strategy: Any, arguments: Arguments) -> Batch | None:
    return Batch(TRANSACTION, [command.args for command in arguments[0]])


def _was_executed(strategy: Any, _arguments: Arguments, result: Any, error: BaseException | None) -> Answered:
    connection = strategy._transaction_connection
    return Answered(None if connection is None else peer(connection), result if error is None else None)
