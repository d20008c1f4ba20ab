"""The routes of the API that answer questions: each reads its parameters, asks query/, and returns the typed answer."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from ..clickhouse.engine import Engine
from ..errors import BadParameter
from ..http.parameters import MAX_LIMIT, limit, one_of, since_s, slowest_percent
from ..pages.shared_answers import Explanations, now_ns
from ..query import kinds
from ..query.answers import RANKINGS, Ranking, Top, Trace
from ..query.diff.answer import Diff
from ..query.diff.compare import diff
from ..query.diff.sides import sides
from ..query.digest.answer import DIGEST_RANKINGS, Digest, DigestRanking
from ..query.digest.rank import digest_of
from ..query.profile.answer import Profile
from ..query.profile.profile import profile
from ..query.scope import Filters, Scope
from ..query.top import top as rank_kinds
from ..query.transaction.show import read as read_trace
from ..query.why.answer import Why
from ..query.why.explain import find_kind
from ..query.windows import Comparison, Window, comparison, window
from .find import FILTER_PARAMS, filters_of, find_route
from .openapi import ApiRoute, Param, answer_route

SINCE = Param("How far back: 90s, 15m, 2h, 7d.", "15m")
KIND = Param("The name of the transactions, as /api/top shows it.", is_required=True)
WITHIN = Param("How much time to look at: 90s, 15m, 2h, 7d.", "1h")
SERVICE = Param("Only this service.")
LIMIT = Param("At most so many rows.", "20", Annotated[int, Field(ge=1, le=MAX_LIMIT)])
RANKED_BY = "What to rank by, largest first."
CONDITION = "version = 2.1, mysql.query.calls > 50 and memcache.get.misses > 3"
WINDOW = "'last 90s', 10m..5m, 5m.., 2026-11-21T09:30Z..now"


def answer_routes(engine: Engine, explanations: Explanations) -> list[ApiRoute]:
    """Return the routes."""
    routes = (top_route, transaction_route, profile_route, diff_route, digest_route, find_route)
    return [why_route(engine, explanations), *(route(engine) for route in routes)]


def top_route(engine: Engine) -> ApiRoute:
    """Of the kinds of transaction."""

    def top(params: dict[str, str]) -> Top:
        """Which kinds of transaction take the time, and in which components."""
        answer = rank_kinds(
            engine,
            since_s=since_s(params["since"]),
            service=kinds.service(engine, params["service"]),
            by=one_of("by", params["by"], RANKINGS),
            limit=limit(params["limit"]),
        )
        return answer if answer.kinds else replace(answer, services=tuple(kinds.services(engine)))

    parameters = {"since": SINCE, "service": SERVICE, "by": Param(RANKED_BY, "total", Ranking), "limit": LIMIT}
    return answer_route("/api/top", top, parameters)


def transaction_route(engine: Engine) -> ApiRoute:
    """Of one request."""

    def transactions(params: dict[str, str]) -> Trace:
        """One request: the transactions of its trace with bill, servers, statements, kept calls, slow-log entries."""
        return read_trace(engine, params["trace_id"])[0]

    return answer_route(
        "/api/transactions/{trace_id}",
        transactions,
        {"trace_id": Param("A trace id or its beginning, or a traceparent.")},
    )


def why_route(engine: Engine, explanations: Explanations) -> ApiRoute:
    """Of the explanation of one kind."""

    def why(params: dict[str, str]) -> Why:
        """
        Why transactions of a kind became slower, or what makes the slowest of them slow.

        `findings` has each sentence with its size and with SQL that yields its numbers; `shown` has its tables.
        A question gets the same answer for 10 seconds, about very many transactions for a minute: see `computed_at`.
        """
        kind, slowest = _required_kind(params), slowest_percent(params["slowest"])

        def compared(now_ns: int) -> Comparison:
            names = ("during", "against", "since", "when")
            return comparison(now_ns, slowest=slowest, **{name: params[name] for name in names})

        exact = compared(time.time_ns())
        filters = find_kind(engine, kind, exact, service=params["service"])
        first, last = sorted((exact.slow, exact.usual), key=lambda each: each.start_ns)
        began_ns = now_ns(explanations.period_s(Window(first.start_ns, last.end_ns)))
        try:
            same = compared(began_ns)
        except BadParameter:  # it began, or ended, less than a period ago
            same = exact
        return explanations.why(filters, exact, began_ns, same)

    return answer_route(
        "/api/why",
        why,
        {
            "kind": KIND,
            "service": Param("The service, when several have a kind of this name."),
            "during": Param(f"Explain this time: {WINDOW}."),
            "against": Param(f"Compare it with this time: {WINDOW}. By default, `since` before `during`."),
            "slowest": Param("Without `during`: compare this share in percent, the slowest, with the rest: 5."),
            "when": Param(f"Compare those that match with the others: {CONDITION}."),
            "since": WITHIN,
        },
    )


def profile_route(engine: Engine) -> ApiRoute:
    """Of the time that no measured call explains."""

    def where_other_goes(params: dict[str, str]) -> Profile:
        """Where the time of a kind goes that no measured call explains: its bill, and sampled lines and stacks."""
        _required_kind(params)
        now_ns, filters = time.time_ns(), filters_of(params)
        start_ns = now_ns - since_s(params["since"]) * 10**9
        during = window("during", params["during"], now_ns) if params["during"] else Window(start_ns, now_ns)
        return profile(engine, Scope(during, filters), state=params["state"])

    return answer_route(
        "/api/profile",
        where_other_goes,
        {
            **FILTER_PARAMS,
            "kind": KIND,
            "since": WITHIN,
            "during": Param(f"Instead of `since`: {WINDOW}."),
            "state": Param("Only lines and stacks in this state: computing, gil, cpu, lock, sleep, file, socket."),
        },
    )


def diff_route(engine: Engine) -> ApiRoute:
    """Of the comparison of all kinds."""

    def differences(params: dict[str, str]) -> Diff:
        """What got slower or faster beyond chance, of all kinds, between two times, versions or conditions."""
        now_ns = time.time_ns()
        usual, now = sides(
            now_ns,
            Filters(service=kinds.service(engine, params["service"]), where=params["where"]),
            during=params["during"],
            against=params["against"],
            since=params["since"],
            versions=(params["against_version"], params["version"]),
            when=params["when"],
            against_when=params["against_when"],
        )
        return diff(engine, usual, now, now_ns, limit=limit(params["limit"]))

    return answer_route(
        "/api/diff",
        differences,
        {
            "during": Param(
                f"Compare this time, the last 15m by default: {WINDOW}. Of versions and conditions: only this time."
            ),
            "against": Param(f"With this time: {WINDOW}. By default, `since` before `during`."),
            "since": WITHIN,
            "version": Param("Compare this version with `against_version`, in one time."),
            "against_version": Param("The usual version."),
            "when": Param(f"Compare those that match, in one time: {CONDITION}."),
            "against_when": Param("With those that match this condition. By default, with all others."),
            "service": SERVICE,
            "where": Param("Only those that match, on both sides."),
            "limit": Param("At most so many kinds.", "100", Annotated[int, Field(ge=1, le=MAX_LIMIT)]),
        },
    )


def digest_route(engine: Engine) -> ApiRoute:
    """Of SQL statements."""

    def statements(params: dict[str, str]) -> Digest:
        """Which SQL statements take the time, in the application and on the server, and which kinds send them."""
        now_ns = time.time_ns()
        start_ns = 0 if params["since"] == "all" else now_ns - since_s(params["since"]) * 10**9
        return digest_of(
            engine,
            Scope(Window(start_ns, now_ns), Filters(service=kinds.service(engine, params["service"]))),
            by=one_of("by", params["by"], DIGEST_RANKINGS),
            limit=limit(params["limit"]),
            statement=params["statement"],
        )

    return answer_route(
        "/api/digest",
        statements,
        {
            "since": Param("How far back: 90s, 15m, 2h, 7d; or all, for logs of any age.", "15m"),
            "service": Param("Only what this service sends."),
            "by": Param(RANKED_BY, "total", DigestRanking),
            "limit": LIMIT,
            "statement": Param("Only this statement, whole: its id, or the beginning of its id or text."),
        },
    )


def _required_kind(params: dict[str, str]) -> str:
    if not params["kind"]:
        raise BadParameter("kind", "it is missing", "give the name of a transaction, as /api/top shows it")
    return params["kind"]
