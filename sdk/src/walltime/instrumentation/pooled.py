"""Waiting for a connection of a pool, for pools that are asked for each call: recorded when there was a wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from walltime.core.call import lines
from walltime.core.execution import current, task_execution
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.instrumentation.timed import class_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from walltime.core.call import Lines, Target
    from walltime.core.execution import ExecutionContext

WAIT_NS: Final = 100_000
"""What takes longer than this is a wait. A pool at rest takes some µs, which stay with the call or with `other`."""


def waited(
    component: str, server: Callable[[Any], Target | None]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """
    Return what wraps the method that takes from a pool: a call of the component each time it has waited or failed.

    Connecting inside is not waiting: a failure after it, or because of it, is the connection's.
    """
    at = lines(component)

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def take(self: Any, *args: Any, **kwargs: Any) -> Any:
            execution = current()
            if execution is None:
                return original(self, *args, **kwargs)
            outer_ns = execution.nested_ns
            started_ns = clock()
            try:
                taken = original(self, *args, **kwargs)
            except BaseException as error:
                try:
                    _leave(execution, at, server, self, error, started_ns, clock(), outer_ns)
                except Exception as ours:
                    contain("pool", ours)
                raise
            ended_ns = clock()
            if ended_ns - started_ns < WAIT_NS:
                return taken
            try:
                _leave(execution, at, server, self, None, started_ns, ended_ns, outer_ns)
            except Exception as ours:
                contain("pool", ours)
            return taken

        return take

    return wrap


def waited_async(
    component: str, server: Callable[[Any], Target | None]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what wraps a coroutine method as `waited` wraps a plain one."""
    at = lines(component)

    def wrap(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def take(self: Any, *args: Any, **kwargs: Any) -> Any:
            execution = task_execution()
            if execution is None:
                return await original(self, *args, **kwargs)
            outer_ns = execution.nested_ns
            started_ns = clock()
            try:
                taken = await original(self, *args, **kwargs)
            except BaseException as error:
                try:
                    _leave(execution, at, server, self, error, started_ns, clock(), outer_ns)
                except Exception as ours:
                    contain("pool", ours)
                raise
            ended_ns = clock()
            if ended_ns - started_ns < WAIT_NS:
                return taken
            try:
                _leave(execution, at, server, self, None, started_ns, ended_ns, outer_ns)
            except Exception as ours:
                contain("pool", ours)
            return taken

        return take

    return wrap


def _leave(
    execution: ExecutionContext,
    at: Lines,
    server: Callable[[Any], Target | None],
    pool: Any,
    error: BaseException | None,
    started_ns: int,
    ended_ns: int,
    outer_ns: int,
) -> None:
    nested_ns = execution.nested_ns - outer_ns
    failure = class_name(error) if error is not None and not nested_ns else None
    if failure or ended_ns - started_ns - nested_ns >= WAIT_NS:
        execution.record(at[server(pool)], None, started_ns, ended_ns, outer_ns, failure)
