"""
Starlette, and FastAPI on top of it: every application, without a change of it; named by the route's template with
those of the mounts around it, `GET /api/product/{id}`.

A background task runs when the response is sent: it is a transaction of its own, `background send_mail`, whose parent
is the request's.

Components: `middleware` (an application with its middlewares, routing, dependencies and sending), `view` (the endpoint
of a route that is made after `instrument`), `serialize` (`JSONResponse`). Templates are Jinja2's.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.trace import NonRecordingSpan, set_span_in_context
from starlette import routing
from starlette._utils import is_async_callable
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException, WebSocketException
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.websockets import WebSocketDisconnect

from walltime import runtime
from walltime.core.execution import current, running_task
from walltime.core.steps import timed, timed_here
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.instrumentation.expected import expect
from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch
from walltime.propagation.propagation import span_context
from walltime.sampling import serving
from walltime.servers.gateways.asgi import served
from walltime.servers.request.request import failed, name_by_route
from walltime.servers.request.route import simplified

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "starlette >= 0.37, < 2"

_MOUNTED: Final = "walltime.mounted"
"""Key of the scope: the templates of the mounts on the way to the route."""
VIEW: Final = Outermost("view")


expect(ClientDisconnect, HTTPException, WebSocketDisconnect, WebSocketException)


def patches() -> list[Patch]:
    return [
        Patch(Starlette, "__call__", served),
        Patch(Mount, "handle", _mounted),
        Patch(Route, "handle", _named),
        Patch(WebSocketRoute, "handle", _named),
        Patch(BackgroundTask, "__call__", _background),
        Patch(ServerErrorMiddleware, "__call__", Outermost("middleware", _is_http).awaited),  # around all others
        Patch(routing, "request_response", _viewed),
        Patch(JSONResponse, "render", Outermost("serialize").call),
    ]


def _is_http(_middleware: object, scope: Any, *_: object) -> bool:
    return bool(scope["type"] == "http")


def _viewed(original: Callable[..., Any]) -> Callable[..., Any]:
    def request_response(func: Any) -> Any:
        try:
            func = functools.wraps(func)((VIEW.awaited if is_async_callable(func) else VIEW.call)(func))
        except Exception as ours:
            contain("starlette", ours)
        return original(func)

    return request_response


def name_by_template(scope: Any, path: str) -> None:
    """Name the request by the template of its route and those of the mounts around it. Never raises."""
    try:
        name_by_route(simplified(scope.get(_MOUNTED, "") + path))
    except Exception as ours:
        contain("starlette", ours)


def in_its_task(route: Any) -> Any:
    """
    Return what to await in place of a route's coroutine. Never raises.

    Some middleware puts it into a task of its own, for which that of the request waits: its steps are timed, and the
    sampler looks at it.
    """
    task = running_task()
    try:
        execution = current()
        if execution is not None and execution.transaction.owner not in (0, 1, task):
            serving.begin(execution.transaction)
    except Exception as ours:
        contain("starlette", ours)
    return timed_here(route, task)


def _named(original: Callable[..., Any]) -> Callable[..., Any]:
    async def handle(self: Route | WebSocketRoute, scope: Any, receive: Any, send: Any) -> None:
        name_by_template(scope, self.path)
        await in_its_task(original(self, scope, receive, send))

    return handle


def _mounted(original: Callable[..., Any]) -> Callable[..., Any]:
    async def handle(self: Mount, scope: Any, receive: Any, send: Any) -> None:
        try:
            scope[_MOUNTED] = scope.get(_MOUNTED, "") + self.path
        except Exception as ours:
            contain("starlette", ours)
        name_by_template(scope, "/{path}")  # until a route inside is found: static files have none
        await original(self, scope, receive, send)

    return handle


def _background(original: Callable[..., Any]) -> Callable[..., Any]:
    async def __call__(self: BackgroundTask) -> None:  # noqa: N807
        try:
            opened = _open_background(self)
        except Exception as ours:
            contain("starlette", ours)
            opened = None
        if opened is None:
            await original(self)
            return
        try:
            await timed(opened.transaction, original(self))
        except BaseException as error:
            failed(opened.transaction, error)
            opened.finish()
            raise
        opened.finish()

    return __call__


def _open_background(task: BackgroundTask) -> runtime.Open | None:
    execution = current()
    if execution is None:
        return None
    request = execution.transaction
    name = getattr(task.func, "__qualname__", None) or type(task.func).__name__
    parent = set_span_in_context(NonRecordingSpan(span_context(request.ids)))
    opened = runtime.Open(f"background {name}", "internal", parent, clock())
    opened._parent = None  # spans that the application makes with OpenTelemetry have the parent they have without us
    opened.enter(running_task())
    return opened
