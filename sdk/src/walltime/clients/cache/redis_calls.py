"""How a command and a pipeline of redis-py are measured. For clients/cache/redis.py and redis_cluster.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from walltime.clients.cache.redis_commands import command_of, key_of
from walltime.clients.cache.redis_servers import server_of_pool
from walltime.core.call import lines
from walltime.instrumentation.measure import Measure, class_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from walltime.clients.cache.redis_commands import Arguments
    from walltime.core.call import Lines, Target
    from walltime.core.execution import ExecutionContext
    from walltime.instrumentation.measure import Described

    Where: TypeAlias = Callable[[Any, Arguments], tuple[Target | None, Arguments]]
    """Takes a method's object and arguments; returns the server the call goes to and the command's arguments."""
    Queued: TypeAlias = Callable[[Any, tuple[Any, ...]], "Batch | None"]
    """Takes a method's object and arguments; returns what it will send, None when that is nothing."""
    Settled: TypeAlias = Callable[[Any, tuple[Any, ...], Any, BaseException | None], "Answered"]
    """Takes, after the call, its object, its arguments, its result and its error; returns what was answered."""

PIPELINE: Final = lines("redis.pipeline")
TRANSACTION: Final = lines("redis.transaction")


def command(where: Where | None = None) -> Measure:
    """
    Return the measure of a method that sends a command and returns its answer.

    Without `where`, the call goes to the server of its object's pool, and all arguments are the command's.
    """

    def describe(of: Any, args: Arguments, answer: Any, error: BaseException | None) -> Described:
        if where is None:
            target, arguments = server_of_pool(of.connection_pool), args
        else:
            target, arguments = where(of, args)
        known = command_of(arguments)
        at, _, requested, matched = known
        keys = requested if isinstance(requested, int) else requested(arguments)
        return at[target], key_of(known, arguments), None, keys, 0 if error is not None else matched(arguments, answer)

    return Measure("redis", describe)


class Batch(NamedTuple):
    """What a pipeline is about to send."""

    at: Lines
    commands: list[Arguments]


class Answered(NamedTuple):
    """What became of it."""

    target: Target | None
    answers: Iterable[Any] | None
    """What each command returned, or its exception; None when the server has executed none, as far as we know."""


def pipeline(queued: Queued, settled: Settled) -> Measure:
    """Return the measure of a method that sends several commands at once."""

    def begin(of: Any, args: Any) -> tuple[Any, Batch] | None:
        batch = queued(of, args)
        return None if batch is None else (of, batch)

    def describe(about: tuple[Any, Batch], args: Any, result: Any, error: BaseException | None) -> Any:
        of, batch = about
        return batch, settled(of, args, result, error)

    return Measure("redis", describe, begin, _record)


def _record(
    execution: ExecutionContext, described: Any, failure: str | None, started_ns: int, ended_ns: int, outer_ns: int
) -> None:
    batch, (target, answers) = described
    execution.record(batch.at[target], None, started_ns, ended_ns, outer_ns, failure, len(batch.commands))
    if answers is None:
        return
    for arguments, answer in zip(batch.commands, answers, strict=False):
        known = command_of(arguments)
        is_error = isinstance(answer, Exception)
        failure, matched = (class_name(answer), 0) if is_error else (None, known.matched(arguments, answer))
        line, key = known.at[target], key_of(known, arguments)  # it takes no time of its own: that is the pipeline's
        requested = known.requested if isinstance(known.requested, int) else known.requested(arguments)
        execution.record(line, key, ended_ns, ended_ns, execution.nested_ns, failure, requested, matched)
