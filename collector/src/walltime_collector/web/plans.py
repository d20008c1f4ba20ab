"""/api/statements/ID/plan: what plan a database has for a statement now; asking for it needs the admin token."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from ..errors import BadParameter
from ..format import quoted
from ..http.authentication import Access
from ..http.body import Arrivals
from ..http.parameters import json_body, without_permission
from ..http.responses import json_response
from ..query.digest.answer import AskedPlan
from .openapi import ApiRoute, Param

_ID = re.compile(r"[0-9a-fA-F]{16}")
_MAX_BODY_BYTES = 1024
_DEADLINE_S = 30.0


class Nothing(TypedDict):
    """An empty object."""


def plan_routes(explain: Callable[[int], AskedPlan], access: Access) -> list[ApiRoute]:
    """POST explains a statement and returns its plan."""
    arrivals = Arrivals(
        max_request_bytes=_MAX_BODY_BYTES, max_in_flight_bytes=16 * _MAX_BODY_BYTES, deadline_s=_DEADLINE_S
    )

    async def asked(request: Request) -> Response:
        if refused := without_permission(request, access):
            return refused
        written = request.path_params["fingerprint_id"]
        if not _ID.fullmatch(written):
            raise BadParameter("fingerprint_id", f"{quoted(written)} is not an id", "use one that /api/digest shows")
        async with json_body(request, arrivals, "{}"):
            return json_response(asdict(await run_in_threadpool(explain, int(written, 16))))

    return [
        ApiRoute(
            "/api/statements/{fingerprint_id}/plan",
            asked,
            "Ask the observed MySQL servers for the plan of a SELECT, and store it; needs the admin token.",
            AskedPlan,
            {"fingerprint_id": Param("Its id, as /api/digest shows it.")},
            body=Nothing,
        )
    ]
