"""/api/find: single transactions by any condition, page by page, and those that ended lately."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from ..clickhouse.engine import Engine
from ..errors import BadParameter
from ..http.parameters import MAX_LIMIT, limit, since_s
from ..query import kinds
from ..query.find.answer import Matches
from ..query.find.search import NEWEST, ended, find
from ..query.scope import FILTERS, Filters, Scope
from ..query.windows import Window, window
from .openapi import ApiRoute, Param, answer_route

FILTER_PARAMS = {
    "service": Param("Only this service."),
    "kind": Param("Only this kind: the name of the transactions, as /api/top shows it."),
    **{name: Param(f"Only this {name}.") for name in ("host", "version", "environment", "user")},
    "status": Param("404, 5xx, or failed."),
    "annotation": Param("key=value: an attribute of the transaction."),
    "where": Param("A condition: mysql.query.calls > 50 and memcache.get.misses > 3."),
}
_PARAMS = {
    **FILTER_PARAMS,
    "since": Param("How far back: 90s, 15m, 2h, 7d.", "1h"),
    "during": Param("Instead of `since`: 'last 90s', 10m..5m, 5m.., 2026-11-21T09:30Z..now."),
    "sort": Param("time: the newest first. Or a field of conditions, the largest first: duration, mysql.time.", NEWEST),
    "limit": Param("At most so many transactions.", "50", Annotated[int, Field(ge=1, le=MAX_LIMIT)]),
    "after": Param("`next` of the page before."),
    "ended_within": Param(
        "Those that ended in this time, the earliest end first; without since, during and sort: 30s."
    ),
}


def find_route(engine: Engine) -> ApiRoute:
    """Return the route."""

    def matches(params: dict[str, str]) -> Matches:
        """Single transactions, by any condition, page by page."""
        filters, now_ns = filters_of(params), time.time_ns()
        start_ns = now_ns - since_s(params["since"]) * 10**9
        searched = window("during", params["during"], now_ns) if params["during"] else Window(start_ns, now_ns)
        filters = meant(engine, filters, searched)
        most, after = limit(params["limit"]), params["after"]
        if within := params["ended_within"]:
            if without := next((name for name in ("during", "sort") if params[name] != _PARAMS[name].default), ""):
                raise BadParameter(without, "it has no effect beside ended_within", "leave out one of them")
            return ended(engine, filters, within_s=since_s(within), now_ns=now_ns, limit=most, after=after)
        return find(engine, Scope(searched, filters), sort=params["sort"], limit=most, after=after)

    return answer_route("/api/find", matches, _PARAMS)


def filters_of(params: dict[str, str]) -> Filters:
    """
    The filters among the parameters.

    Raises:
        BadParameter: One of them is not valid.
    """
    filters = Filters(**{name: params[name] for name in FILTERS})
    filters.check()
    return filters


def meant(engine: Engine, filters: Filters, window: Window) -> Filters:
    """
    The filters with the service and the kind that were meant: each may be cut, or copied from what was printed.

    Raises:
        BadParameter, NotStored: None or several are like it.
        EngineUnavailable: The engine cannot answer now.
    """
    service, kind = kinds.service(engine, filters.service), filters.kind
    if kind:
        kind = str(kinds.kind_in(engine, kind, service, window)[0].get("name", kind))
    return replace(filters, service=service, kind=kind)
