"""
Django, under WSGI and ASGI, with sync and async views: every request without a change of the project; named by the
route, `GET /product/<int:id>`. The transactions are opened in django_wsgi.py and django_asgi.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.core.handlers import exception
from django.core.handlers.base import BaseHandler

from walltime.errors import contain
from walltime.patching import Patch
from walltime.server.request import failed_now, name_by_route

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "Django >= 4.2, < 7"


def patches() -> list[Patch]:
    return [
        Patch(BaseHandler, "resolve_request", _named),
        Patch(exception, "handle_uncaught_exception", _failed),
    ]


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
