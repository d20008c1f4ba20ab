"""
Django, under WSGI and ASGI, with sync and async views: every request without a change of the project; named by the
route, `GET /product/<int:id>`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.core.handlers import exception
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIHandler

from walltime.errors import contain
from walltime.patching import Patch
from walltime.server import asgi, wsgi
from walltime.server.request import failed_now, name_by_route

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "Django >= 4.2, < 7"


def patches() -> list[Patch]:
    return [
        Patch(WSGIHandler, "__call__", _served_by_wsgi),
        Patch(ASGIHandler, "__call__", _served_by_asgi),
        Patch(BaseHandler, "resolve_request", _named),
        Patch(exception, "handle_uncaught_exception", _failed),
    ]


def _served_by_wsgi(original: Callable[..., Any]) -> Callable[..., Any]:
    def __call__(self: WSGIHandler, environ: Any, start_response: Any) -> Any:  # noqa: N807  # it replaces one
        return wsgi.serve(partial(original, self), environ, start_response)

    return __call__


def _served_by_asgi(original: Callable[..., Any]) -> Callable[..., Any]:
    async def __call__(self: ASGIHandler, scope: Any, receive: Any, send: Any) -> None:  # noqa: N807
        await asgi.serve(partial(original, self), scope, receive, send)

    return __call__


def _named(original: Callable[..., Any]) -> Callable[..., Any]:
    def resolve_request(self: BaseHandler, request: Any) -> Any:
        match = original(self, request)
        try:
            route = match.route
            if type(route) is str:
                name_by_route("/" + route.removeprefix("^"))
        except Exception as ours:
            contain("django", ours)
        return match

    return resolve_request


def _failed(original: Callable[..., Any]) -> Callable[..., Any]:
    def handle_uncaught_exception(request: Any, resolver: Any, exc_info: Any) -> Any:
        failed_now(exc_info[1])
        return original(request, resolver, exc_info)

    return handle_uncaught_exception
