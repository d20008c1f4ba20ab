"""The routes of the API that answer questions: each reads its parameters, asks query/, and returns the typed answer."""

from __future__ import annotations

import time
from dataclasses import asdict, replace

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ..clickhouse.engine import Engine
from ..errors import BadParameter
from ..http.parameters import limit, one_of, query_params, since_s, slowest_percent
from ..http.responses import json_response
from ..query import kinds
from ..query.answers import RANKINGS
from ..query.digest.answer import DIGEST_RANKINGS
from ..query.digest.rank import digest
from ..query.top import top as rank_kinds
from ..query.transaction.show import read as read_trace
from ..query.why.explain import explain
from ..query.windows import comparison


def answer_routes(engine: Engine) -> list[Route]:
    """Return the routes; their endpoints are plain functions, which Starlette runs in its thread pool."""

    def top(request: Request) -> JSONResponse:
        params = query_params(request, {"since": "15m", "service": "", "by": "total", "limit": "20"})
        answer = rank_kinds(
            engine,
            since_s=since_s(params["since"]),
            service=kinds.service(engine, params["service"]),
            by=one_of("by", params["by"], RANKINGS),
            limit=limit(params["limit"]),
        )
        if not answer.kinds:
            answer = replace(answer, services=tuple(kinds.services(engine)))
        return json_response(asdict(answer))

    def transactions(request: Request) -> JSONResponse:
        query_params(request, {})
        trace, _ = read_trace(engine, request.path_params["trace_id"])
        return json_response(asdict(trace))

    def why(request: Request) -> JSONResponse:
        names = ("kind", "service", "during", "against", "slowest", "when")
        params = query_params(request, {**dict.fromkeys(names, ""), "since": "1h"})
        if not params["kind"]:
            raise BadParameter("kind", "it is missing", "give the name of a transaction, as /api/top shows it")
        compared = comparison(
            time.time_ns(),
            during=params["during"],
            against=params["against"],
            slowest=slowest_percent(params["slowest"]),
            since=params["since"],
            when=params["when"],
        )
        return json_response(asdict(explain(engine, params["kind"], compared, service=params["service"])))

    def statements(request: Request) -> JSONResponse:
        defaults = {"since": "15m", "service": "", "by": "total", "limit": "20", "statement": ""}
        params = query_params(request, defaults)
        answer = digest(
            engine,
            since_s=None if params["since"] == "all" else since_s(params["since"]),
            service=kinds.service(engine, params["service"]),
            by=one_of("by", params["by"], DIGEST_RANKINGS),
            limit=limit(params["limit"]),
            statement=params["statement"],
        )
        return json_response(asdict(answer))

    return [
        Route("/api/top", top),
        Route("/api/transactions/{trace_id}", transactions),
        Route("/api/why", why),
        Route("/api/digest", statements),
    ]
