"""
The transaction goes along with work that is handed to another thread, task or greenlet.

Asyncio's tasks inherit the context by themselves. Threads and greenlets begin with an empty one; the modules here give
them a `Branch` of the transaction and OpenTelemetry's context, and nothing else: other context variables are the
application's, which may tell its threads from its requests by them. A worker that goes on to work for others gives the
branch back after each job. What still runs when its transaction ends is no longer billed to it, and counted as late.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context

from walltime.core.execution import branch, current, enter, running
from walltime.errors import contain

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Callable

    from opentelemetry.context import Context

    from walltime.core.execution import ExecutionContext


def carried(job: Callable[..., Any]) -> Callable[..., Any]:
    """Return the job as another thread or greenlet should run it: for the transaction that runs here, if one does."""
    try:
        execution = current()
        if execution is None or not execution.transaction.settings.context_threads:
            return job
        return partial(run, branch(execution), otel_context.get_current(), job)
    except Exception as ours:  # it runs without us, then
        contain("context", ours)
        return job


def run(execution: ExecutionContext, otel: Context, job: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run a job on an execution context of its transaction, and leave the thread as it was."""
    entered = attached = None
    try:
        entered = enter(None if execution.transaction.is_over else execution)
        attached = otel_context.attach(otel)
    except Exception as ours:
        contain("context", ours)
    try:
        return job(*args, **kwargs)
    finally:
        try:
            if entered is not None:
                running.reset(entered)
            if attached is not None:
                otel_context.detach(attached)
        except Exception as ours:
            contain("context", ours)


def begin_in(context: contextvars.Context) -> contextvars.Context:
    """Return the context in which a thread or greenlet begins, with a branch of the transaction that runs here."""
    execution = current()
    if execution is not None:
        context.run(_enter, branch(execution), otel_context.get_current())
    return context


def _enter(execution: ExecutionContext, otel: Context) -> None:
    running.set(execution)
    otel_context.attach(otel)


def on_a_branch(job: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run a job in another thread, in a copy of its giver's context: two threads never share an execution context."""
    return carried(job)(*args, **kwargs)
