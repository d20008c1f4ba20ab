"""gevent's pool of native threads: a job works for the transaction that spawned it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gevent.threadpool import ThreadPool

from walltime.handoff import carried
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES = "gevent 20.9–26"


def _spawn(original: Callable[..., Any]) -> Callable[..., Any]:
    def spawn(self: ThreadPool, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return original(self, carried(func), *args, **kwargs)

    return spawn


def patches() -> list[Patch]:
    return [Patch(ThreadPool, "spawn", _spawn)]
