"""The web port: the JSON API, which answers the questions of the commands, and the pages (pages/)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ..clickhouse.dialect import error_code
from ..clickhouse.engine import Engine
from ..errors import (
    BadParameter,
    EngineUnavailable,
    NotStored,
    QueryFailed,
    RequestRefused,
    StatementRefused,
    TooManyQuestions,
)
from ..format import printable
from ..health.counters import Health
from ..health.status import Status
from ..http.authentication import Access
from ..http.body import Disconnected
from ..http.host_check import HostCheck, SiteCheck
from ..http.responses import ERROR_PAGE, problem, refusal
from ..http.sign_in import SignIn, login_route
from ..pages.render import Pages
from ..pages.request import Sources
from ..pages.routes import error_page, page_routes
from ..pages.shared_answers import Explanations
from ..spool.dead_letters import Letter
from ..sql.runner import QueryRunner
from ..sql.tables import Tables
from .advice import advice_routes
from .answers import answer_routes
from .health import health_routes
from .incidents import incident_routes
from .openapi import ApiRoute, openapi_route
from .sql import sql_route

log = logging.getLogger(__name__)


def make_app(
    engine: Engine,
    health: Health,
    runner: QueryRunner,
    access: Access,
    current_status: Callable[[], Status],
    *,
    dead_letters: Callable[[], list[Letter]] = list,
    allowed_hosts: Collection[str] = (),
    any_address: bool = False,
    more: Sequence[Route] = (),
) -> Starlette:
    """
    Return the application of the web port.

    Endpoints that query the engine are plain functions: Starlette runs them in its thread pool.

    Args:
        runner: Runs the statements of /api/sql.
        access: Where a read token is set, all paths but /healthz, /readyz and /login require it.
        current_status: For /api/status and the pages.
        dead_letters: For the pages.
        allowed_hosts: See HostCheck.
        any_address: See HostCheck.
        more: Further routes.
    """

    def database_error(request: Request, error: Exception) -> str:
        """The database's message can name paths and other statements: only the admin and the log get it."""
        if is_admin(request):
            return str(error)
        log.warning("%s: %s", request.url.path, error)
        return f"the database refused it ({type(error).__name__}, code {error_code(error)}); see the collector's log"

    pages, explanations = Pages(), Explanations(engine)
    sources = Sources(engine, health, current_status, dead_letters, Tables(runner), explanations, access=access)

    def is_admin(request: Request) -> bool:
        return access.is_admin(request.headers.get("authorization", ""))

    routes = [
        *answer_routes(engine, explanations),
        *advice_routes(engine, access),
        *incident_routes(engine),
        sql_route(runner),
        *health_routes(engine, health, access, current_status),
        *([] if access.read.is_unset else [login_route(access.read)]),
        *more,
    ]
    routes.append(openapi_route([each for each in routes if isinstance(each, ApiRoute)]))
    paths = sorted({each.path for each in routes})
    return Starlette(
        routes=[
            *routes,
            *page_routes(pages, sources),
        ],
        middleware=[
            Middleware(HostCheck, allowed_hosts=allowed_hosts, any_address=any_address),
            Middleware(SiteCheck),
            *([] if access.read.is_unset else [Middleware(SignIn, credential=access.read)]),
        ],
        exception_handlers={
            BadParameter: lambda request, error: refusal(request, 400, error.where, error.what, error.what_now),
            NotStored: lambda request, error: refusal(request, 404, error.where, error.what, error.what_now),
            QueryFailed: lambda request, error: refusal(
                request,
                500,
                "engine",
                database_error(request, error),
                "reduce the time window, or select a service",
            ),
            StatementRefused: lambda _, error: problem(403, "sql", error.what, error.what_now),
            Disconnected: _client_is_gone,
            ClientDisconnect: _client_is_gone,
            TooManyQuestions: lambda _, error: problem(429, "sql", *str(error).split("; ", 1)),
            RequestRefused: lambda _, error: problem(error.status, "body", str(error), "send a shorter one"),
            EngineUnavailable: lambda request, error: refusal(
                request, 503, "engine", database_error(request, error), "try again; see /healthz"
            ),
            HTTPException: lambda request, error: _no_such_page(request, error, pages, paths),
            Exception: lambda request, error: refusal(
                request, 500, "collector", f"the collector failed ({type(error).__name__})", "see its log"
            ),
        },
    )


def _client_is_gone(request: Request, error: Exception) -> Response:
    """Nobody receives this status, and it is not worth a line in the log."""
    return Response(status_code=499)


def _no_such_page(request: Request, error: Any, pages: Pages, paths: Sequence[str]) -> Response:
    is_for_people = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")
    if is_for_people:
        request.scope.setdefault(ERROR_PAGE, error_page(pages, request))
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        use = "POST" if "POST" in allowed else "GET"
        response = problem(405, request.method, "this path has another method", f"use {use}")
        response.headers["Allow"] = allowed
        return response
    return refusal(
        request,
        error.status_code,
        printable(request.url.path)[:80],
        "there is no such page",
        "use the navigation above, or start at the overview" if is_for_people else f"there are {', '.join(paths)}",
    )
