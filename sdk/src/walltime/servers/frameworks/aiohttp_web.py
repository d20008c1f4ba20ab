"""
aiohttp's server: every request without a change of the application, from its arrival until the response is written;
named by the resource, `GET /product/{id}`.

Not a middleware of aiohttp: those return before the body is written, and do not see what the router refuses.

Components: `view` (a handler with the middlewares around it), `serialize` (`json_response`), `middleware` (the rest:
errors, sending).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import Request
from aiohttp.web_urldispatcher import UrlDispatcher

from walltime import runtime
from walltime.core.execution import current, running_task
from walltime.core.steps import timed
from walltime.core.transaction import clock
from walltime.errors import contain, guarded
from walltime.instrumentation.expected import expect
from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch
from walltime.servers.request.headers import from_mapping
from walltime.servers.request.request import answered, failed, failed_now, incomplete, name_by_route, open_request
from walltime.servers.request.server_timing import server_timing

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.transaction import Transaction

REQUIRES: Final = "aiohttp >= 3.9, < 4"

_shown_to: dict[int, Transaction] = {}
"""Requests whose answer carries the bill, until it begins; what a request holds under a name, aiohttp warns of."""


expect(web.HTTPException)


def patches() -> list[Patch]:
    return [
        Patch(RequestHandler, "_handle_request", _served),
        Patch(RequestHandler, "handle_error", _failed),
        Patch(UrlDispatcher, "resolve", _named),
        Patch(Request, "_prepare_hook", _shown),
        Patch(web.Application, "_handle", Outermost("view").awaited),
        Patch(web, "json_response", Outermost("serialize").call),
    ]


def _served(original: Callable[..., Any]) -> Callable[..., Any]:
    original = Outermost("middleware").awaited(original)

    async def _handle_request(self: RequestHandler, request: Request, *more: Any) -> Any:
        started_ns = clock()
        try:
            opened = _open(request, started_ns)
        except Exception as ours:
            contain("aiohttp_web", ours)
            opened = None
        if opened is None:
            return await original(self, request, *more)
        try:
            answer = await timed(opened.transaction, original(self, request, *more))
        except BaseException as error:
            if _has_left(self):
                incomplete(opened.transaction)
            elif not opened.transaction.is_error:  # else it is aiohttp's, about the application's before it
                failed(opened.transaction, error)
            raise
        else:
            _note(answer, opened.transaction, self)
        finally:
            opened.finish()
            if opened.shows_bill:
                _shown_to.pop(id(request), None)
        return answer

    return _handle_request


def _open(request: Request, started_ns: int) -> runtime.Open | None:
    if not runtime.is_enabled():
        return None
    headers = from_mapping(request.headers)
    opened = open_request(request.method, request.scheme, request.path, headers, started_ns, running_task())
    if opened.shows_bill:
        _shown_to[id(request)] = opened.transaction
    return opened


@guarded("aiohttp_web", lambda: False)
def _has_left(handler: RequestHandler) -> bool:
    transport = handler.transport
    return transport is None or transport.is_closing()


@guarded("aiohttp_web")
def _note(answer: Any, transaction: Transaction, handler: RequestHandler) -> None:
    response, has_left = answer
    if response.prepared:
        answered(transaction, response.status)
    if has_left or handler.transport is None:
        incomplete(transaction)


def _named(original: Callable[..., Any]) -> Callable[..., Any]:
    async def resolve(self: UrlDispatcher, request: Request) -> Any:
        match = await original(self, request)
        try:
            resource = match.route.resource
            if resource is not None:
                name_by_route(resource.canonical)
        except Exception as ours:
            contain("aiohttp_web", ours)
        return match

    return resolve


def _failed(original: Callable[..., Any]) -> Callable[..., Any]:
    def handle_error(
        self: RequestHandler, request: Any, status: int = 500, exc: Any = None, message: Any = None
    ) -> Any:
        if exc is not None and status >= 500 and not _has_left(self):
            failed_now(exc)
        return original(self, request, status, exc, message)

    return handle_error


def _shown(original: Callable[..., Any]) -> Callable[..., Any]:
    async def _prepare_hook(self: Request, response: Any) -> None:
        await original(self, response)
        try:
            execution = current()
            if execution is not None:
                answered(execution.transaction, response.status)
            transaction = _shown_to.pop(id(self), None)
            if transaction is not None:
                response.headers["Server-Timing"] = server_timing(transaction)
        except Exception as ours:
            contain("aiohttp_web", ours)

    return _prepare_hook
