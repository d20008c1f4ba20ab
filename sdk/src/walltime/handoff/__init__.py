"""
The transaction goes along with work that is handed to another thread, task or greenlet.

Asyncio's tasks inherit the context by themselves. Threads and greenlets begin with an empty one; the modules here give
them a branch of the transaction's strand and OpenTelemetry's context, and nothing else: other context variables are the
application's, which may tell its threads from its requests by them. A worker that goes on to work for others gives the
branch back after each job. What still runs when its transaction ends is no longer billed to it, and counted as late.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context as otel_context

from walltime.core import transaction as hotpath
from walltime.errors import contain
from walltime.core.transaction import branch, current

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Callable

    from opentelemetry.context import Context

    from walltime.core.transaction import Strand
    from walltime.settings.settings import Settings

# By the time there is a strand, the settings have been read.
enabled = True
"""Setting `context_threads`."""
with_gc = True
"""Setting `python_gc`."""


def configure(settings: Settings) -> None:
    """Take over what the settings say of threads and of the collector."""
    global enabled, with_gc
    enabled, with_gc = settings.context_threads, settings.python_gc


def carried(job: Callable[..., Any]) -> Callable[..., Any]:
    """Return the job as another thread or greenlet should run it: for the transaction that runs here, if one does."""
    try:
        strand = current()
        if strand is None or not enabled:
            return job
        return partial(run, branch(strand), otel_context.get_current(), job)
    except Exception as ours:  # noqa: BLE001  # it runs without us, then
        contain("context", ours)
        return job


def run(strand: Strand, otel: Context, job: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run a job on a strand of its transaction, and leave the thread as it was."""
    entered = attached = None
    try:
        entered = hotpath.enter(None if strand.transaction.is_over else strand)
        attached = otel_context.attach(otel)
    except Exception as ours:  # noqa: BLE001
        contain("context", ours)
    try:
        return job(*args, **kwargs)
    finally:
        try:
            if entered is not None:
                hotpath.strand.reset(entered)
            if attached is not None:
                otel_context.detach(attached)
        except Exception as ours:  # noqa: BLE001
            contain("context", ours)


def begin_in(context: contextvars.Context) -> contextvars.Context:
    """Return the context in which a thread or greenlet is to begin, with a branch of the strand that runs here."""
    strand = current()
    if strand is not None:
        context.run(_enter, branch(strand), otel_context.get_current())
    return context


def _enter(strand: Strand, otel: Context) -> None:
    hotpath.strand.set(strand)
    otel_context.attach(otel)


def on_a_branch(job: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run a job in a copy of its giver's context, in another thread: it is not for two threads to share a strand."""
    return carried(job)(*args, **kwargs)
