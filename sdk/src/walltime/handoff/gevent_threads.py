"""gevent's pool of native threads: a job works for the transaction that spawned it."""

from __future__ import annotations

from gevent.threadpool import ThreadPool

from walltime.handoff import carrying
from walltime.instrumentation.patching import Patch

REQUIRES = "gevent 20.9–26"


def patches() -> list[Patch]:
    return [Patch(ThreadPool, "spawn", carrying)]
