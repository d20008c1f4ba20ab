"""The routes of the API for incidents."""

from __future__ import annotations

import time
from typing import Literal

from ..clickhouse.engine import Engine
from ..http.parameters import limit, one_of, since_s
from ..query import kinds
from ..query.incidents.answer import Incident, Incidents
from ..query.incidents.stored import incident, incidents
from ..query.windows import Window
from .answers import LIMIT, SERVICE, SINCE
from .openapi import ApiRoute, Param, answer_route

_S = 1_000_000_000


def incident_routes(engine: Engine) -> list[ApiRoute]:
    """Return the routes."""

    def several(params: dict[str, str]) -> Incidents:
        """When kinds of transactions were not as usual: slower, more failures or more calls, and why."""
        now_ns = time.time_ns()
        return incidents(
            engine,
            Window(now_ns - since_s(params["since"]) * _S, now_ns),
            service=kinds.service(engine, params["service"]),
            kind=params["kind"],
            is_open=one_of("open", params["open"], ("", "1")) == "1",
            limit=limit(params["limit"]),
        )

    def one(params: dict[str, str]) -> Incident:
        """One incident: what changed, and its explanation."""
        return incident(engine, params["id"])

    return [
        answer_route(
            "/api/incidents",
            several,
            {
                "since": SINCE._replace(default="1d"),
                "service": SERVICE,
                "kind": Param("Only this kind, its whole name."),
                "open": Param("1: only those that are open.", type=Literal["", "1"]),
                "limit": LIMIT,
            },
        ),
        answer_route("/api/incidents/{id}", one, {"id": Param("The id of an incident.")}),
    ]
