"""Threads and timers: those that are started in a transaction work for it."""

from __future__ import annotations

import contextvars
import sys
import threading
from typing import TYPE_CHECKING

from walltime import handoff as context
from walltime.core.execution import current, running
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES = "Python 3.10–3.14"

_JOB = "_walltime_job"
_POOLS = frozenset({
    "anyio._backends._asyncio", "concurrent.futures.process", "logging.handlers", "multiprocessing.managers",
    "multiprocessing.pool", "multiprocessing.queues", "multiprocessing.resource_sharer",
    "opentelemetry.sdk._shared_internal", "opentelemetry.sdk.metrics._internal.export", "redis.background",
    "sentry_sdk._batcher", "sentry_sdk.monitor", "sentry_sdk.sessions", "sentry_sdk.worker", "trio._core._thread_cache",
})  # fmt: skip
"""Modules whose threads are workers that many transactions share; jobs of pools are handed over one by one."""


def _start(original: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    def start(self: threading.Thread) -> None:
        if current() is None or _is_shared(self):
            return original(self)
        entered = None
        try:
            self.__dict__[_JOB] = context.carried(_work)
            entered = running.set(None)  # by the job alone, not by gevent's greenlet as well
        except Exception as ours:
            contain("context", ours)
        try:
            return original(self)
        finally:
            self.__dict__.pop(_JOB, None)  # it is there still when the thread could not be started
            if entered is not None:
                running.reset(entered)

    return start


def _is_shared(thread: threading.Thread) -> bool:
    """Say whether it works for whoever uses its library: by its class, or by its function."""
    target = getattr(thread, "_target", None)
    return not _POOLS.isdisjoint((type(thread).__module__, getattr(target, "__module__", None)))


def _work(original: Callable[[threading.Thread], None], thread: threading.Thread) -> None:
    return original(thread)


def _bootstrap_inner(original: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    # Not `run`, which subclasses override without calling it.
    def _bootstrap_inner(self: threading.Thread) -> None:
        job: Callable[..., None] | None = self.__dict__.pop(_JOB, None)
        if job is None:
            return original(self)
        return job(original, self)

    return _bootstrap_inner


def _start_in_a_context(original: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    def start(self: threading.Thread) -> None:
        execution = current()
        if execution is None or _is_shared(self):
            return original(self)
        try:
            if execution.transaction.settings.context_threads and self._context is None:  # type: ignore[attr-defined]  # else they have chosen one
                base = contextvars.copy_context() if _INHERITS else contextvars.Context()
                self._context = context.begin_in(base)  # type: ignore[attr-defined]
        except Exception as ours:
            contain("context", ours)
        return original(self)

    return start


_INHERITS = getattr(sys.flags, "thread_inherit_context", False)
"""Whether threads begin with a copy of the context they are started in, as in the free-threaded Python."""


def patches() -> list[Patch]:
    if sys.version_info >= (3, 14):  # a thread has a context of its own, which `run` runs in
        return [Patch(threading.Thread, "start", _start_in_a_context)]
    return [Patch(threading.Thread, "start", _start), Patch(threading.Thread, "_bootstrap_inner", _bootstrap_inner)]
