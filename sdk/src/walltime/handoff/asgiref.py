"""asgiref, which runs Django's synchronous views under ASGI (`sync_to_async`), and asynchronous ones under WSGI."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from asgiref.sync import AsyncToSync, SyncToAsync

from walltime.handoff import on_a_branch, waiting
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES = "asgiref 3.5–3.12"


def _thread_handler(original: Callable[..., Any]) -> Callable[..., Any]:
    def thread_handler(
        self: SyncToAsync[Any, Any], loop: Any, exc_info: Any, task_context: Any, func: Callable[..., Any],
        *args: Any, **kwargs: Any,
    ) -> Any:  # fmt: skip
        if args:  # `func` enters a copy of the giver's context and calls the first of them
            args = (partial(on_a_branch, args[0]), *args[1:])
        return original(self, loop, exc_info, task_context, func, *args, **kwargs)

    return thread_handler


def patches() -> list[Patch]:
    return [
        Patch(SyncToAsync, "thread_handler", _thread_handler),
        Patch(AsyncToSync, "__call__", waiting),
    ]
