"""Django under ASGI, see django.py."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.core.handlers.asgi import ASGIHandler

from walltime.instrumentation.patching import Patch
from walltime.servers.gateways.asgi import serve
from walltime.servers.request.request import MARK

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "Django >= 4.2, < 7"


def patches() -> list[Patch]:
    return [Patch(ASGIHandler, "__call__", _served)]


def _served(original: Callable[..., Any]) -> Callable[..., Any]:
    async def __call__(self: ASGIHandler, scope: Any, receive: Any, send: Any) -> None:  # noqa: N807  # it replaces one
        if MARK in scope:
            await original(self, scope, receive, send)
        else:
            await serve(partial(original, self), scope, receive, send)

    return __call__
