"""Greenlets: one that is spawned in a transaction works for it. (`gevent.spawn_raw` asks nobody, and goes without.)"""

from __future__ import annotations

from contextvars import Context
from typing import TYPE_CHECKING

from gevent.greenlet import Greenlet
from opentelemetry import context as otel_context

from walltime import context, hotpath
from walltime.errors import contain
from walltime.hotpath import branch, current
from walltime.patching import Hook

if TYPE_CHECKING:
    from opentelemetry.context import Context as OtelContext

    from walltime.hotpath import Strand

REQUIRES = "gevent 20.9–26"


def _spawned(greenlet: Greenlet) -> None:
    try:
        strand = current()
        if strand is None or not context.enabled or greenlet.gr_context is not None:
            return
        begins_in = Context()
        begins_in.run(_enter, branch(strand), otel_context.get_current())
        greenlet.gr_context = begins_in
    except Exception as ours:  # noqa: BLE001
        contain("context", ours)


def _enter(strand: Strand, otel: OtelContext) -> None:
    hotpath.strand.set(strand)
    otel_context.attach(otel)


def patches() -> list[Hook]:
    # Greenlet is a compiled class, whose methods cannot be replaced; this is its own way in.
    return [
        Hook(lambda: Greenlet.add_spawn_callback(_spawned), lambda: Greenlet.remove_spawn_callback(_spawned)),
    ]
