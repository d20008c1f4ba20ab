"""The JSON API on the web port: the same questions as the commands, for browsers and programs of this machine."""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

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
from ..format import printable, since_s
from ..health.counters import Health
from ..health.status import Status
from ..http.authentication import Access
from ..http.body import Disconnected
from ..http.sign_in import SignIn, login_route
from ..query import kinds as known
from ..query import questions as query
from ..query.answers import RANKINGS
from ..query.digest.answer import DIGEST_RANKINGS
from ..query.digest.rank import digest
from ..query.why.explain import explain
from ..query.why.windows import comparison
from ..sql.limits import Reading
from ..trace_id import find_trace_id
from .health import health_routes
from .sql import sql_route

log = logging.getLogger(__name__)

MAX_LIMIT = 1_000
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def make_app(
    engine: Engine,
    health: Health,
    reading: Reading,
    access: Access,
    tell: Callable[[], Status],
    *,
    allowed_hosts: Collection[str] = (),
    any_address: bool = False,
    more: Sequence[Route] = (),
) -> Starlette:
    """
    The application for the web port.

    Endpoints are plain functions, so Starlette runs them, and the engine's waiting, in its thread pool.

    Args:
        health: What /healthz, /readyz and /metrics report.
        reading: Answers /api/sql.
        tell: Answers /api/status.
        access: Everything but /healthz, /readyz and /login wants a token, where one is set.
        allowed_hosts: Names a browser may use in Host besides the loopback ones.
        any_address: Let Host be any IP address, for a collector that listens for other machines.
        more: What else is answered here.
    """

    def top(request: Request) -> JSONResponse:
        said = _parameters(request, {"since": "15m", "service": "", "by": "total", "limit": "20"})
        if said["by"] not in RANKINGS:
            raise BadParameter("by", f"{_quoted(said['by'])} is not something to rank by", f"use {', '.join(RANKINGS)}")
        answer = query.top(
            engine,
            since_s=_since_s(said["since"]),
            service=known.service(engine, said["service"]),
            by=said["by"],
            limit=_number("limit", said["limit"], MAX_LIMIT),
        )
        if not answer.kinds:
            answer = replace(answer, services=tuple(known.services(engine)))
        return _json(asdict(answer))

    def transactions(request: Request) -> JSONResponse:
        _parameters(request, {})
        written = request.path_params["trace_id"]
        try:
            trace_id, _ = find_trace_id(written)
        except ValueError as error:
            raise BadParameter("trace_id", f"{_quoted(written)} is not a trace id", str(error)) from error
        trace_id = known.trace(engine, trace_id)
        trace = query.show(engine, trace_id)
        if trace is None:
            return _problem(
                404,
                "trace_id",
                f"no transaction of trace {trace_id} is stored",
                "a new one is there about 2 s after its request ended, and goes when its retention is over",
            )
        return _json(asdict(trace))

    def why(request: Request) -> JSONResponse:
        said = _parameters(
            request, {"kind": "", "service": "", "during": "", "against": "", "slowest": "", "since": "1h"}
        )
        if not said["kind"]:
            raise BadParameter("kind", "it is missing", "say the name of a transaction, as /api/top shows it")
        compared = comparison(
            time.time_ns(),
            during=said["during"],
            against=said["against"],
            slowest=_percent("slowest", said["slowest"]) if said["slowest"] else None,
            since=said["since"],
        )
        return _json(asdict(explain(engine, said["kind"], compared, service=said["service"])))

    def statements(request: Request) -> JSONResponse:
        said = _parameters(request, {"since": "15m", "service": "", "by": "total", "limit": "20", "statement": ""})
        if said["by"] not in DIGEST_RANKINGS:
            rankings = ", ".join(DIGEST_RANKINGS)
            raise BadParameter("by", f"{_quoted(said['by'])} is not something to rank by", f"use {rankings}")
        answer = digest(
            engine,
            since_s=None if said["since"] == "all" else _since_s(said["since"]),
            service=known.service(engine, said["service"]),
            by=said["by"],
            limit=_number("limit", said["limit"], MAX_LIMIT),
            statement=said["statement"],
        )
        return _json(asdict(answer))

    def told(request: Request, error: Exception) -> str:
        """What the database said names paths, and statements of others: it is for the admin, and for the log."""
        if access.is_admin(request.headers.get("authorization", "")):
            return str(error)
        log.warning("%s: %s", request.url.path, error)
        return f"the database says no ({type(error).__name__}, code {error_code(error)}); the collector's log has more"

    return Starlette(
        routes=[
            Route("/api/top", top),
            Route("/api/transactions/{trace_id}", transactions),
            Route("/api/why", why),
            Route("/api/digest", statements),
            sql_route(reading, _json),
            *health_routes(engine, health, access, tell),
            *([] if access.read.is_unset else [login_route(access.read)]),
            *more,
        ],
        middleware=[
            Middleware(HostCheck, allowed_hosts=allowed_hosts, any_address=any_address),
            *([] if access.read.is_unset else [Middleware(SignIn, credential=access.read)]),
        ],
        exception_handlers={
            BadParameter: lambda _, error: _problem(400, error.where, error.what, error.what_now),
            NotStored: lambda _, error: _problem(404, error.where, error.what, error.what_now),
            QueryFailed: lambda request, error: _problem(
                500, "engine", told(request, error), "ask about less: a shorter time, a service"
            ),
            StatementRefused: lambda _, error: _problem(403, "sql", error.what, error.what_now),
            Disconnected: _nobody_waits,
            ClientDisconnect: _nobody_waits,
            TooManyQuestions: lambda _, error: _problem(429, "sql", *str(error).split("; ", 1)),
            RequestRefused: lambda _, error: _problem(error.status, "body", str(error), "send a shorter statement"),
            EngineUnavailable: lambda request, error: _problem(
                503, "engine", told(request, error), "try again; see /healthz"
            ),
            HTTPException: _not_found,
            Exception: lambda _, error: _problem(
                500, "collector", f"it failed on this question ({type(error).__name__})", "see its log"
            ),
        },
    )


class HostCheck:
    """
    Refuses requests whose Host is not a name of this machine's own.

    A page on the web can point its own name at 127.0.0.1 and read what answers there (DNS rebinding); the browser still
    sends that name, and that is how we know. No CORS header is ever sent, so other origins read nothing either.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Collection[str], any_address: bool) -> None:
        self._app = app
        self._names = {name.lower() for name in allowed_hosts} | {"localhost"}
        self._any_address = any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may be answered."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
        if self._is_ours(host):
            return await self._app(scope, receive, send)
        refused = _problem(
            421, "Host", f"{_quoted(host)} is not a name of this collector", "ask it as localhost or 127.0.0.1"
        )
        return await refused(scope, receive, send)

    def _is_ours(self, host: str) -> bool:
        name, _, port = host.rpartition(":") if ":" in host and not host.endswith("]") else (host, "", "")
        if port and not port.isdecimal():
            return False
        name = name.lower().rstrip(".")
        if name in self._names or name.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return address.is_loopback or self._any_address


def _parameters(request: Request, known: Mapping[str, str]) -> dict[str, str]:
    given = dict(request.query_params)
    if unknown := [name for name in given if name not in known]:
        can = f"it takes {', '.join(known)}" if known else "it takes none"
        raise BadParameter(_quoted(unknown[0]), "there is no such parameter", can)
    return {**known, **given}


def _since_s(written: str) -> int:
    try:
        return since_s(written)
    except ValueError as error:
        what, _, what_now = str(error).partition("; ")
        raise BadParameter("since", what, what_now) from error


def _number(name: str, written: str, most: int) -> int:
    if not (written.isascii() and written.isdecimal() and len(written) < 10 and 1 <= int(written) <= most):
        raise BadParameter(name, f"{_quoted(written)} is not a number it can be", f"use 1 to {most}")
    return int(written)


def _percent(name: str, written: str) -> float:
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadParameter(name, f"{_quoted(written)} is not a number of per cents", "write 5 or 0.1")
    return number


def _quoted(text: str) -> str:
    return repr(printable(text)[:80])


def _json(document: Mapping[str, Any], status: int = 200) -> JSONResponse:
    return JSONResponse(document, status, _HEADERS)


def _problem(status: int, where: str, what: str, what_now: str) -> JSONResponse:
    return _json({"error": {"where": where, "what": what, "what_now": what_now}}, status)


def _nobody_waits(request: Request, error: Exception) -> Response:
    """The client left in mid-request: a status that nobody sees, and nothing for the log."""
    return Response(status_code=499)


def _not_found(request: Request, error: Any) -> JSONResponse:
    if error.status_code == 405:
        use = "POST" if "POST" in (error.headers or {}).get("Allow", "") else "GET"
        return _problem(405, request.method, "that is not how this is asked", f"use {use}")
    return _problem(
        error.status_code,
        printable(request.url.path)[:80],
        "there is no such page",
        "there are /api/top, /api/transactions/{trace_id}, /api/why, /api/digest, /api/sql, /api/deadletters, "
        "/api/status, /api/applications, /healthz, /readyz and /metrics",
    )
