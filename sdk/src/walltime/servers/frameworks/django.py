"""
Django, under WSGI and ASGI, with sync and async views: every request without a change of the project; named by the
route, `GET /product/{id}`. The transactions are opened in django_wsgi.py and django_asgi.py.

Components: `middleware` (the chain of middlewares with routing), `view`, `serialize` (`JsonResponse`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from asgiref.sync import iscoroutinefunction
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation, ValidationError
from django.core.handlers import exception
from django.core.handlers.base import BaseHandler
from django.http import Http404, JsonResponse
from django.urls import get_resolver
from django.urls.resolvers import LocalePrefixPattern, URLResolver

from walltime.core.execution import current
from walltime.errors import contain
from walltime.instrumentation.expected import expect
from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch
from walltime.servers.request.request import failed_now, name_by_route
from walltime.servers.request.route import from_django

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "Django >= 4.2, < 7"

_MIDDLEWARE: Final = Outermost("middleware")
_VIEW: Final = Outermost("view")


expect(BadRequest, Http404, PermissionDenied, SuspiciousOperation, ValidationError)


def patches() -> list[Patch]:
    return [
        Patch(BaseHandler, "resolve_request", _named),
        Patch(exception, "handle_uncaught_exception", _failed),
        Patch(BaseHandler, "get_response", _MIDDLEWARE.call),
        Patch(BaseHandler, "get_response_async", _MIDDLEWARE.awaited),
        Patch(BaseHandler, "make_view_atomic", _viewed),
        Patch(JsonResponse, "__init__", Outermost("serialize").call),
    ]


def _named(original: Callable[..., Any]) -> Callable[..., Any]:
    def resolve_request(self: BaseHandler, request: Any) -> Any:
        match = original(self, request)
        try:
            route = match.route
            if type(route) is str:
                language = _language_prefix(request)
                if language and route.startswith(language):
                    route = "{language}/" + route[len(language) :]
                name_by_route("/" + from_django(route.removeprefix("^")))
        except Exception as ours:
            contain("django", ours)
        return match

    return resolve_request


def _viewed(original: Callable[..., Any]) -> Callable[..., Any]:
    def make_view_atomic(self: BaseHandler, view: Any) -> Any:
        view = original(self, view)  # as it is called, on the thread of the view
        try:
            if current() is not None:
                return _VIEW.awaited(view) if iscoroutinefunction(view) else _VIEW.call(view)
        except Exception as ours:
            contain("django", ours)
        return view

    return make_view_atomic


def _language_prefix(request: Any) -> str:
    """What `i18n_patterns` put in front of the route: the language that is active now, and a slash; or nothing."""
    pattern = _language_pattern(get_resolver(getattr(request, "urlconf", None)))
    return "" if pattern is None else str(pattern)


@lru_cache(maxsize=64)
def _language_pattern(resolver: URLResolver) -> LocalePrefixPattern | None:
    patterns = (each.pattern for each in resolver.url_patterns)  # Django allows it in the outermost alone
    return next((pattern for pattern in patterns if isinstance(pattern, LocalePrefixPattern)), None)


def _failed(original: Callable[..., Any]) -> Callable[..., Any]:
    def handle_uncaught_exception(request: Any, resolver: Any, exc_info: Any) -> Any:
        failed_now(exc_info[1])
        return original(request, resolver, exc_info)

    return handle_uncaught_exception
