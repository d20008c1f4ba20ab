"""FastAPI: what starlette.py does, with the prefixes of the routers a route was included by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import routing

from walltime.errors import contain
from walltime.instrumentation.patching import Patch
from walltime.servers.frameworks.starlette import name_by_template

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "fastapi >= 0.110, < 1"


def patches() -> list[Patch]:
    return [Patch(routing.APIRoute, "handle", _named)]


def _named(original: Callable[..., Any]) -> Callable[..., Any]:
    # Newer versions do not copy an included route: its full path is that of a context in the scope.
    included = getattr(routing, "_get_scope_effective_route_context", None)

    async def handle(self: routing.APIRoute, scope: Any, receive: Any, send: Any) -> None:
        path = self.path
        try:
            context = None if included is None else included(scope)
            if context is not None and context.original_route is self:
                path = context.path
        except Exception as ours:
            contain("fastapi", ours)
        name_by_template(scope, path)
        await original(self, scope, receive, send)

    return handle
