"""The simplest measures: a call without counts, waiting for a pool, a method that is one call with all it does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from walltime.core.call import lines
from walltime.core.cpu import greenlet_here, thread_clock
from walltime.core.execution import current, inside, task_execution
from walltime.instrumentation.measure import Measure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from walltime.core.call import Target
    from walltime.core.execution import ExecutionContext


def timed(library: str, component: str, server: Callable[[Any], Target | None]) -> Measure:
    """Return the measure of a method of which each call is one call of the component; `server` takes its object."""
    at = lines(component)
    return Measure(library, lambda of, _args, _result, _error: (at[server(of)], None, None, 0, 0))


def computing(measure: Measure) -> Measure:
    """Return the measure with the thread's CPU time in the calls of a synchronous method, which cost 1.5 µs more."""

    def begin(of: Any, _args: Any) -> Any:
        return of, thread_clock() if greenlet_here() is None else None

    def describe(begun: Any, args: Any, result: Any, error: BaseException | None) -> Any:
        of, before_ns = begun
        described = measure.describe(of, args, result, error)
        return described if before_ns is None else (*described[:4], thread_clock() - before_ns)

    return replace(measure, begin=begin, describe=describe)


WAIT_NS: Final = 100_000
"""Taking from a pool that lasts longer was a wait. A pool at rest takes some µs, which stay with the call."""


def waited(component: str, server: Callable[[Any], Target | None]) -> Measure:
    """
    Return the measure of a method that takes a connection from a pool, for pools that are used for each call.

    It is a call when it waited or failed. Connecting inside is no wait: a failure after it is the connection's.
    """
    at = lines(component)

    def record(
        execution: ExecutionContext, pool: Any, failure: str | None, started_ns: int, ended_ns: int, outer_ns: int
    ) -> None:
        nested_ns = execution.nested_ns - outer_ns
        failure = None if nested_ns else failure
        if failure or ended_ns - started_ns - nested_ns >= WAIT_NS:
            execution.record(at[server(pool)], None, started_ns, ended_ns, outer_ns, failure)

    def describe(pool: Any, _args: Any, _result: Any, _error: BaseException | None) -> Any:
        return pool

    return Measure("pool", describe, record=record, counts_outside=False, shortest_ns=WAIT_NS)


def whole(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that is measured as one call: the measured calls it makes are part of it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        execution = current()
        if execution is None:
            return original(*args, **kwargs)
        with inside(execution):
            return original(*args, **kwargs)

    return call


def whole_async(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Wrap a coroutine method as `whole` wraps a plain one."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        execution = task_execution()
        if execution is None:
            return await original(*args, **kwargs)
        with inside(execution):
            return await original(*args, **kwargs)

    return call
