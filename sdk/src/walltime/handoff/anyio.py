"""anyio's worker threads, which run the synchronous functions of Starlette and FastAPI, and their way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.from_thread
import anyio.to_thread

from walltime.core.execution import current
from walltime.handoff import on_a_branch, waiting
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

REQUIRES = "anyio 3, 4"


def _run_sync(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def run_sync(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if current() is None:
            return await original(func, *args, **kwargs)
        return await original(on_a_branch, func, *args, **kwargs)  # it runs in a copy of this context

    return run_sync


def patches() -> list[Patch]:
    return [
        Patch(anyio.to_thread, "run_sync", _run_sync),
        *(Patch(anyio.from_thread, name, waiting) for name in ("run", "run_sync")),
    ]
