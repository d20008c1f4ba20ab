"""/api/advice: what to change; dismissing an advice and restoring it need the admin token."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Literal

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import NotRequired, TypedDict

from ..clickhouse.engine import Engine
from ..errors import BadParameter, NotStored
from ..format import quoted
from ..http.authentication import Access
from ..http.body import Arrivals
from ..http.parameters import json_body, limit, one_of, since_s, without_permission
from ..http.responses import json_response
from ..query.advise.advise import advise, change_of
from ..query.advise.answer import Advised, Dismissal, Dismissals
from ..query.advise.dismissed import dismiss, dismissals
from ..query.scope import FILTERS, Scope
from ..query.windows import window
from .answers import LIMIT, SERVICE
from .find import filters_of, meant
from .openapi import ApiRoute, Param, answer_route

_ID = re.compile(r"[0-9a-f]{10}")
_MAX_BODY_BYTES = 16 * 1024
_MAX_WHY_CHARS = 1_000
_DEADLINE_S = 30.0


Dismiss = TypedDict(
    "Dismiss",
    {
        "id": str,
        "for": NotRequired[str],
        "why": NotRequired[str],
        "since": NotRequired[str],
        "during": NotRequired[str],
        "service": NotRequired[str],
        "kind": NotRequired[str],
        "host": NotRequired[str],
        "version": NotRequired[str],
        "environment": NotRequired[str],
        "status": NotRequired[str],
        "user": NotRequired[str],
        "annotation": NotRequired[str],
        "where": NotRequired[str],
    },
)
"""Hide an advice for so long (30d); it is looked for in `during`, or in the last `since` (1h), with these filters."""


class Restore(TypedDict):
    id: str


"""Show a dismissed advice again."""


def advice_routes(engine: Engine, access: Access) -> list[ApiRoute]:
    """GET answers; POST …/dismiss takes a Dismiss, …/restore takes `{"id"}`."""
    arrivals = Arrivals(
        max_request_bytes=_MAX_BODY_BYTES, max_in_flight_bytes=4 * _MAX_BODY_BYTES, deadline_s=_DEADLINE_S
    )

    def advice(params: dict[str, str]) -> Advised:
        """What to change, with the time that each change saves and trace ids as evidence, the most expensive first."""
        with_dismissed = one_of("dismissed", params["dismissed"], ("true", "false")) == "true"
        now_ns = time.time_ns()
        searched = window("since", f"last {params['since']}", now_ns)
        scope = Scope(searched, meant(engine, filters_of(params), searched))
        return advise(engine, scope, now_ns, limit=limit(params["limit"]), with_dismissed=with_dismissed)

    def dismissed(_: dict[str, str]) -> Dismissals:
        """Advice that is dismissed now."""
        return Dismissals(tuple(dismissals(engine).values()))

    def decided(decide: Callable[[Engine, Mapping[str, str]], Dismissal]) -> Callable[[Request], Any]:
        async def decision(request: Request) -> Response:
            if refused := without_permission(request, access):
                return refused
            async with json_body(request, arrivals, '{"id": "…"}') as document:
                return json_response(asdict(await run_in_threadpool(decide, engine, _texts(document))))

        return decision

    params = {
        "since": Param("How far back: 90s, 15m, 2h, 7d.", "1h"),
        **{name: Param(f"Only transactions with this {name}, as in the pages.") for name in FILTERS},
        "service": SERVICE,
        "kind": Param("Only transactions of this name, as /api/top shows it."),
        "limit": LIMIT,
        "dismissed": Param("Also advice that is dismissed.", "false", Literal["true", "false"]),
    }
    return [
        answer_route("/api/advice", advice, params),
        answer_route("/api/advice/dismissed", dismissed),
        ApiRoute(
            "/api/advice/dismiss",
            decided(_dismiss),
            "Hide an advice, `for` so long (30d); needs the admin token.",
            Dismissal,
            body=Dismiss,
        ),
        ApiRoute(
            "/api/advice/restore",
            decided(_restore),
            "Show a dismissed advice again; needs the admin token.",
            Dismissal,
            body=Restore,
        ),
    ]


def _dismiss(engine: Engine, document: Mapping[str, str]) -> Dismissal:
    now_ns = time.time_ns()
    if during := document.get("during"):
        searched = window("during", during, now_ns)
    else:
        searched = window("since", f"last {document.get('since', '1h')}", now_ns)
    filters = filters_of({**dict.fromkeys(FILTERS, ""), **document})
    for_s, why = since_s(document.get("for", "30d")), document.get("why", "")[:_MAX_WHY_CHARS]
    if change := change_of(engine, Scope(searched, meant(engine, filters, searched)), document["id"]):
        return dismiss(engine, document["id"], for_s=for_s, why=why, change=change)
    raise NotStored(
        "id", f"there is no advice {quoted(document['id'])} now", "see walltime advise, or look further back"
    )


def _restore(engine: Engine, document: Mapping[str, str]) -> Dismissal:
    if (dismissal := dismissals(engine).get(document["id"])) is None:
        raise NotStored("id", f"no advice {quoted(document['id'])} is dismissed", "see walltime advise --dismissed")
    return dismiss(engine, dismissal.id, for_s=0, why=dismissal.why, change=dismissal.change)


def _texts(document: Any) -> Mapping[str, str]:
    if not isinstance(document, dict) or not all(isinstance(each, str) for each in document.values()):
        raise BadParameter("body", "it is no object of texts", 'send {"id": "…", "for": "30d", "why": "…"}')
    if unknown := [name for name in document if name not in Dismiss.__annotations__]:
        raise BadParameter(
            quoted(unknown[0]), "there is no such parameter", f"use {', '.join(Dismiss.__annotations__)}"
        )
    if not _ID.fullmatch(document.get("id", "")):
        raise BadParameter("id", f"{quoted(document.get('id', ''))} is not the id of an advice", "see walltime advise")
    return document
