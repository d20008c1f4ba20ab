"""multiprocessing's pool of threads: a job works for the transaction that submitted it, whoever made the pool."""

from __future__ import annotations

from multiprocessing.pool import ThreadPool

from walltime.handoff import carrying
from walltime.instrumentation.patching import Patch

REQUIRES = "Python 3.10–3.14"


def patches() -> list[Patch]:
    return [Patch(ThreadPool, name, carrying) for name in ("apply_async", "_map_async", "imap", "imap_unordered")]
