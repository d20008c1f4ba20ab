"""What wraps a command and a pipeline of redis-py, plain and asyncio. For clients/redis.py and redis_cluster.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from walltime.clients.cache.redis_commands import command_of, key_of
from walltime.core.call import lines
from walltime.core.execution import current, task_execution
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.timed import class_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from typing import TypeAlias

    from walltime.clients.cache.redis_commands import Arguments
    from walltime.core.call import Lines, Target
    from walltime.core.execution import ExecutionContext

    Wrap: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]

PIPELINE: Final = lines("redis.pipeline")
TRANSACTION: Final = lines("redis.transaction")


# ---- one command ----

if TYPE_CHECKING:
    Where: TypeAlias = Callable[[Any, Arguments], "tuple[Target | None, Arguments]"]
    """Says of a method's object and arguments which server the call goes to, and the command with what it takes."""


def timed_command(where: Where) -> Wrap:
    """Return what wraps a method that sends a command and returns its answer."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def execute(self: Any, *args: Any, **options: Any) -> Any:
            execution = current()
            if execution is None:
                outside("redis")
                return original(self, *args, **options)
            outer_ns = execution.nested_ns
            started_ns = clock()
            try:
                answer = original(self, *args, **options)
            except BaseException as error:
                try:
                    _bill(execution, where, self, args, None, error, started_ns, clock(), outer_ns)
                except Exception as ours:
                    contain("redis", ours)
                raise
            try:
                _bill(execution, where, self, args, answer, None, started_ns, clock(), outer_ns)
            except Exception as ours:
                contain("redis", ours)
            return answer

        return execute

    return wrap


def timed_command_async(where: Where) -> Wrap:
    """Return what wraps a coroutine method as `timed_command` wraps a plain one."""

    def wrap(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def execute(self: Any, *args: Any, **options: Any) -> Any:
            execution = task_execution()
            if execution is None:
                outside("redis")
                return await original(self, *args, **options)
            outer_ns = execution.nested_ns
            started_ns = clock()
            try:
                answer = await original(self, *args, **options)
            except BaseException as error:
                try:
                    _bill(execution, where, self, args, None, error, started_ns, clock(), outer_ns)
                except Exception as ours:
                    contain("redis", ours)
                raise
            try:
                _bill(execution, where, self, args, answer, None, started_ns, clock(), outer_ns)
            except Exception as ours:
                contain("redis", ours)
            return answer

        return execute

    return wrap


def _bill(
    execution: ExecutionContext, where: Where, of: Any, arguments: Arguments, answer: Any, error: BaseException | None,
    started_ns: int, ended_ns: int, outer_ns: int,
) -> None:  # fmt: skip
    target, arguments = where(of, arguments)
    command = command_of(arguments)
    failure, found = (None, command.found(arguments, answer)) if error is None else (class_name(error), 0)
    line, asked = command.at[target], command.asked(arguments)
    execution.record(line, key_of(command, arguments), started_ns, ended_ns, outer_ns, failure, asked, found)


# ---- several in one go ----


class Batch(NamedTuple):
    """What a pipeline is about to send."""

    at: Lines
    commands: list[Arguments]


class Answered(NamedTuple):
    """What became of it."""

    target: Target | None
    answers: Iterable[Any] | None
    """What each command returned, or its exception; None when the server has executed none, as far as we know."""


if TYPE_CHECKING:
    Queued: TypeAlias = Callable[[Any, tuple[Any, ...]], Batch | None]
    """Says of a method's object and arguments what it will send; None when that is nothing."""
    Settled: TypeAlias = Callable[[Any, tuple[Any, ...], Any, BaseException | None], Answered]
    """Says, after the call, of its object, its arguments, its result or its error what was answered."""


def timed_pipeline(queued: Queued, settled: Settled) -> Wrap:
    """Return what wraps a method that sends several commands at once."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def execute(self: Any, *args: Any, **options: Any) -> Any:
            execution = current()
            if execution is None:
                outside("redis")
                return original(self, *args, **options)
            batch = _look(queued, self, args)
            if batch is None:
                return original(self, *args, **options)
            outer_ns = execution.nested_ns
            started_ns = clock()
            try:
                result = original(self, *args, **options)
            except BaseException as error:
                try:
                    _bill_batch(execution, batch, settled, self, args, None, error, started_ns, clock(), outer_ns)
                except Exception as ours:
                    contain("redis", ours)
                raise
            try:
                _bill_batch(execution, batch, settled, self, args, result, None, started_ns, clock(), outer_ns)
            except Exception as ours:
                contain("redis", ours)
            return result

        return execute

    return wrap


def timed_pipeline_async(queued: Queued, settled: Settled) -> Wrap:
    """Return what wraps a coroutine method as `timed_pipeline` wraps a plain one."""

    def wrap(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def execute(self: Any, *args: Any, **options: Any) -> Any:
            execution = task_execution()
            if execution is None:
                outside("redis")
                return await original(self, *args, **options)
            batch = _look(queued, self, args)
            if batch is None:
                return await original(self, *args, **options)
            outer_ns = execution.nested_ns
            started_ns = clock()
            try:
                result = await original(self, *args, **options)
            except BaseException as error:
                try:
                    _bill_batch(execution, batch, settled, self, args, None, error, started_ns, clock(), outer_ns)
                except Exception as ours:
                    contain("redis", ours)
                raise
            try:
                _bill_batch(execution, batch, settled, self, args, result, None, started_ns, clock(), outer_ns)
            except Exception as ours:
                contain("redis", ours)
            return result

        return execute

    return wrap


def _look(queued: Queued, of: Any, arguments: tuple[Any, ...]) -> Batch | None:
    try:
        return queued(of, arguments)
    except Exception as ours:
        contain("redis", ours)
        return None
        return None


def _bill_batch(
    execution: ExecutionContext, batch: Batch, settled: Settled, of: Any, arguments: tuple[Any, ...], result: Any,
    error: BaseException | None, started_ns: int, ended_ns: int, outer_ns: int,
) -> None:  # fmt: skip
    target, answers = settled(of, arguments, result, error)
    failure = None if error is None else class_name(error)
    size = len(batch.commands)
    execution.record(batch.at[target], None, started_ns, ended_ns, outer_ns, failure, size)
    if answers is not None:
        _bill_commands(execution, target, zip(batch.commands, answers, strict=False), ended_ns)


def _bill_commands(
    execution: ExecutionContext, target: Target | None, answered: Iterable[tuple[Arguments, Any]], ended_ns: int
) -> None:
    for arguments, answer in answered:
        command = command_of(arguments)
        is_error = isinstance(answer, Exception)
        failure, found = (class_name(answer), 0) if is_error else (None, command.found(arguments, answer))
        line, asked = command.at[target], command.asked(arguments)
        key = key_of(command, arguments)  # it takes no time of its own: that is the pipeline's
        execution.record(line, key, ended_ns, ended_ns, execution.nested_ns, failure, asked, found)
