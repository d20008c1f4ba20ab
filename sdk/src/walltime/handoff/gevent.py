"""Greenlets that are spawned in a transaction work for it, except those of `gevent.spawn_raw`."""

from __future__ import annotations

from contextvars import Context

from gevent.greenlet import Greenlet

from walltime.core.execution import current
from walltime.errors import contain
from walltime.handoff import begin_in
from walltime.instrumentation.patching import Hook

REQUIRES = "gevent 20.9–26"


def _spawned(greenlet: Greenlet) -> None:
    try:
        execution = current()
        if execution is not None and execution.transaction.settings.context_threads and greenlet.gr_context is None:
            greenlet.gr_context = begin_in(Context())
    except Exception as ours:
        contain("context", ours)


def patches() -> list[Hook]:
    # Greenlet is a compiled class, so its methods cannot be replaced; it has this callback.
    return [Hook(lambda: Greenlet.add_spawn_callback(_spawned), lambda: Greenlet.remove_spawn_callback(_spawned))]
