"""
redis-py in a cluster: each command, pipeline and transaction where it goes to a node.

A cluster's client does not send through `redis.Redis`, so redis.py sees only its questions about the cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redis import cluster
from redis.asyncio import cluster as async_cluster

from walltime.clients.cache.redis_calls import PIPELINE, TRANSACTION, Answered, Batch, command, pipeline
from walltime.clients.cache.redis_servers import peer
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from walltime.clients.cache.redis_calls import Queued
    from walltime.clients.cache.redis_commands import Arguments
    from walltime.core.call import Lines, Target


def patches() -> list[Patch]:
    patches = [
        Patch(cluster.RedisCluster, "_execute_command", command(_sent_to).call),
        Patch(cluster.NodeCommands, "read", pipeline(_unread, _has_read).call),
        Patch(async_cluster.RedisCluster, "_execute_command", command(_sent_to).awaited),
        Patch(async_cluster.ClusterNode, "execute_pipeline", pipeline(_given(PIPELINE), _was_answered).awaited),
    ]
    executed = pipeline(_given(TRANSACTION), _was_executed)
    for strategy, wrap in (  # newer than redis-py 6.0
        (getattr(cluster, "TransactionStrategy", None), executed.call),
        (getattr(async_cluster, "TransactionStrategy", None), executed.awaited),
    ):
        if strategy is not None:
            patches.append(Patch(strategy, "_execute_transaction", wrap))
    return patches


def _sent_to(_client: Any, arguments: Arguments) -> tuple[Target | None, Arguments]:
    node, *command = arguments
    return (node.host, node.port), tuple(command)


def _given(at: Lines) -> Queued:
    return lambda _of, arguments: Batch(at, [command.args for command in arguments[0]])


def _unread(node_commands: Any, _arguments: Arguments) -> Batch | None:
    """One node's share of a pipeline: all are written first, the waiting is in reading."""
    return Batch(PIPELINE, [command.args for command in node_commands.commands])


def _has_read(node_commands: Any, _arguments: Arguments, _result: Any, _error: BaseException | None) -> Answered:
    return Answered(peer(node_commands.connection), [command.result for command in node_commands.commands])


def _was_answered(node: Any, arguments: Arguments, _result: Any, error: BaseException | None) -> Answered:
    answers = [command.result for command in arguments[0]] if error is None else None
    return Answered((node.host, node.port), answers)


def _was_executed(strategy: Any, _arguments: Arguments, result: Any, error: BaseException | None) -> Answered:
    connection = strategy._transaction_connection
    return Answered(None if connection is None else peer(connection), result if error is None else None)
