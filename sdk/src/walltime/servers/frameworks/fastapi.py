"""
FastAPI: as starlette.py, plus the prefixes of the routers that include a route.

Components: `view` (the function of a route; on the thread of the pool for a plain `def`), `serialize` (its result).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from fastapi import routing
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError

from walltime.core.execution import current
from walltime.errors import contain
from walltime.instrumentation.expected import expect
from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch
from walltime.servers.frameworks.starlette import VIEW, in_its_task, name_by_template

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "fastapi >= 0.110, < 1"

_MAX_MADE: Final = 4096
"""A full cache is cleared."""


_included: Final[Any] = getattr(routing, "_get_scope_effective_route_context", None)
"""Of versions that do not copy an included route; the others' is Starlette's as any."""


expect(RequestValidationError, WebSocketRequestValidationError)


def patches() -> list[Patch]:
    return [
        *([] if _included is None else [Patch(routing.APIRoute, "handle", _named)]),
        Patch(routing, "run_endpoint_function", _viewed),
        Patch(routing, "serialize_response", Outermost("serialize").awaited),
    ]


def _viewed(original: Callable[..., Any]) -> Callable[..., Any]:
    measured = VIEW.awaited(original)

    async def run_endpoint_function(*, dependant: Any, is_coroutine: bool, **more: Any) -> Any:
        if is_coroutine:
            return await measured(dependant=dependant, is_coroutine=True, **more)
        try:
            if current() is not None:
                dependant = _in_thread(dependant)
        except Exception as ours:
            contain("fastapi", ours)
        return await original(dependant=dependant, is_coroutine=False, **more)

    return run_endpoint_function


class _InThread:
    """A dependant whose function is measured where it is called: in a thread of the pool."""

    def __init__(self, dependant: Any) -> None:
        self._dependant, self.original = dependant, dependant.call
        self.call = functools.wraps(dependant.call)(VIEW.call(dependant.call))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dependant, name)


_made: dict[int, _InThread] = {}


def _in_thread(dependant: Any) -> _InThread:
    """Return the one of this dependant, which its route keeps for all requests: making it costs 10 µs."""
    known = _made.get(id(dependant))
    if known is None or known.original is not dependant.call:
        if len(_made) >= _MAX_MADE:
            _made.clear()
        known = _made[id(dependant)] = _InThread(dependant)
    return known


def _named(original: Callable[..., Any]) -> Callable[..., Any]:
    """Name a route that was included by its full path, which a context in the scope has."""

    async def handle(self: routing.APIRoute, scope: Any, receive: Any, send: Any) -> None:
        path: str | None = None
        try:
            context = _included(scope)
            if context is not None and context.original_route is self:
                path = context.path
        except Exception as ours:
            contain("fastapi", ours)
        if path is None:
            await original(self, scope, receive, send)  # Starlette's, which names it
        else:
            name_by_template(scope, path)
            await in_its_task(original(self, scope, receive, send))

    return handle
