"""
Hand the transaction over to threads, tasks and greenlets that work for it.

Tasks inherit the context by themselves. Threads and greenlets start with an empty context; the modules here set a
`Branch` of the transaction and OpenTelemetry's context, and nothing else: other context variables belong to the
application. A pool's worker gives the branch back after each job.

What is handed over ends with the transaction (`execution.close`): a thread or task that goes on is outside of it. A
call that ends after its transaction is not on the bill; it is counted as late.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context

from walltime.core.cpu import of_thread
from walltime.core.execution import LENT, branch, current, enter, inherited, running
from walltime.errors import contain
from walltime.propagation.propagation import lend
from walltime.sampling import serving

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Callable

    from opentelemetry.context import Context

    from walltime.core.execution import ExecutionContext


def carried(job: Callable[..., Any]) -> Callable[..., Any]:
    """Return the job, wrapped so that another thread or greenlet runs it for the current transaction."""
    try:
        execution = current()
        if execution is None or not execution.transaction.settings.context_threads:
            return job
        return partial(run, branch(execution), lend(execution.transaction), job)
    except Exception as ours:  # then the job runs without Walltime
        contain("context", ours)
        return job


def carrying(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of a pool of threads whose first argument is a job."""

    def submit(self: Any, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return original(self, carried(func), *args, **kwargs)

    return submit


def waiting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that waits for a coroutine on another thread: it runs in the execution context that waits."""

    def call(*args: Any, **kwargs: Any) -> Any:
        execution = current()
        if execution is None:
            return original(*args, **kwargs)
        before = execution.home, execution.owner, execution.thread
        execution.home, execution.owner, execution.thread = LENT, 0, 0
        try:
            return original(*args, **kwargs)
        finally:
            if not execution.transaction.is_over:
                execution.home, execution.owner, execution.thread = before
            if inherited() is not execution:  # asgiref takes over the task's context
                running.set(execution)

    return call


def run(execution: ExecutionContext, otel: Context, job: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run a job in the given execution context, then restore the thread's context."""
    entered = attached = served = used = None
    loop = execution.transaction.loop
    try:
        entered = enter(None if execution.transaction.is_over else execution)
        attached = otel_context.attach(otel)
        served = serving.swap(execution)
        if loop is not None:
            used = of_thread()
    except Exception as ours:
        contain("context", ours)
    try:
        return job(*args, **kwargs)
    finally:
        try:
            serving.swap(served)
            if used is not None and loop is not None:
                loop.add_job(used)
            if entered is not None:
                running.reset(entered)
            if attached is not None:
                otel_context.detach(attached)
        except Exception as ours:
            contain("context", ours)


def begin_in(context: contextvars.Context) -> contextvars.Context:
    """Add a branch of the current transaction to the context in which a thread or greenlet starts."""
    execution = current()
    if execution is not None:
        context.run(_enter, branch(execution), lend(execution.transaction))
    return context


def _enter(execution: ExecutionContext, otel: Context) -> None:
    running.set(execution)
    otel_context.attach(otel)


def on_a_branch(job: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run a job in another thread that has a copy of this context: two threads never share an execution context."""
    return carried(job)(*args, **kwargs)
