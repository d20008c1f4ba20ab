"""
Flask: instruments every application without code changes; named by the URL rule, `GET /product/{id}`.

Components: `middleware` (the whole application: WSGI middlewares in it, routing, the functions before and after the
view, error handlers, teardown), `view`, `serialize` (`jsonify`), `session` (in the cookie). Templates are Jinja2's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from flask import Flask
from flask.globals import request
from flask.json.provider import DefaultJSONProvider
from flask.sessions import SecureCookieSessionInterface
from werkzeug.exceptions import HTTPException

from walltime.errors import contain
from walltime.instrumentation.expected import expect
from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch
from walltime.servers.gateways.wsgi import served
from walltime.servers.request.request import failed_now, name_by_route
from walltime.servers.request.route import simplified

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "Flask >= 2.3, < 4"

_MIDDLEWARE: Final = Outermost("middleware")


expect(HTTPException)


def patches() -> list[Patch]:
    return [
        # Both: middleware is put around either, `app.wsgi_app = ProxyFix(app.wsgi_app)` perhaps before we came.
        Patch(Flask, "__call__", _served),
        Patch(Flask, "wsgi_app", _served),
        Patch(Flask, "full_dispatch_request", _named),
        Patch(Flask, "handle_exception", _failed),
        Patch(Flask, "dispatch_request", Outermost("view", _has_view).call),
        Patch(DefaultJSONProvider, "response", Outermost("serialize").call),
        Patch(SecureCookieSessionInterface, "open_session", Outermost("session").call),
        Patch(SecureCookieSessionInterface, "save_session", Outermost("session").call),
    ]


def _has_view(*_: object) -> bool:
    return request.routing_exception is None


def _served(original: Callable[..., Any]) -> Callable[..., Any]:
    return served(_MIDDLEWARE.call(original))


def _named(original: Callable[..., Any]) -> Callable[..., Any]:
    def full_dispatch_request(self: Flask, *context: Any) -> Any:
        try:
            rule = request.url_rule
            if rule is not None:
                name_by_route(simplified(rule.rule))
        except Exception as ours:
            contain("flask", ours)
        return original(self, *context)

    return full_dispatch_request


def _failed(original: Callable[..., Any]) -> Callable[..., Any]:
    def handle_exception(self: Flask, *context_and_error: Any) -> Any:
        failed_now(context_and_error[-1])
        return original(self, *context_and_error)

    return handle_exception
