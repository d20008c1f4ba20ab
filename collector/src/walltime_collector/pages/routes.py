"""
The routes of the pages. Each view has an address for people, and the same address with `.json` for programs.

To add a view:

1. `views/<name>.py`: a frozen dataclass, the view model, and a function that makes it from a PageRequest. It asks
   query/; it has no SQL and no HTML. What it raises (BadParameter, NotStored …) becomes a page or a JSON problem.
2. `templates/<name>.html`: it extends base.html and shows the view model, `page`. `parts/shared.html` has what several
   views show: charts, bars, tables of numbers, empty states.
3. One line in VIEWS below; a function in urls.py when other views link to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..http.responses import ERROR_PAGE
from .content import Content
from .grafana import grafana_route
from .render import Frame, Pages
from .request import SCOPE_PARAMS, PageRequest, Sources, path_names, read
from .shared_answers import PERIOD_S, SharedAnswers, now_ns
from .views import (
    advice,
    collector,
    diff,
    incidents,
    kind,
    overview,
    servers,
    sql,
    statements,
    suggestions,
    transaction,
    transactions,
)

_HTML, _JSON = "text/html; charset=utf-8", "application/json"


@dataclass(frozen=True)
class View:
    """One view."""

    pattern: str
    template: str
    show: Callable[[PageRequest], Any]
    """Makes the view model, a dataclass."""
    own_params: Mapping[str, str] = field(default_factory=dict)
    """Parameters besides time and filters, with their defaults."""
    has_scope: bool = True
    """Whether the bar with time and filters is shown."""
    is_live: bool = True
    """Whether it is fetched again while `time` begins with `last` and nothing is selected."""
    scope_part: str = ""
    """The template of further fields in that bar: of `against` and own_params."""
    version: Callable[[PageRequest], Hashable] = lambda _: None
    """Of what people change: an answer is shared only while this is the same."""


VIEWS = (
    View("/", "overview.html", overview.overview, overview.PARAMS),
    View("/kinds/{service}/{name}", "kind.html", kind.kind, kind.PARAMS),
    View("/diff", "diff/diff.html", diff.diff_of_kinds, diff.PARAMS, is_live=False, scope_part="diff/fields.html"),
    View("/servers", "servers.html", servers.all_servers),
    View("/servers/{component}/{address}", "server.html", servers.one_server),
    View("/statements", "statements.html", statements.all_statements, statements.PARAMS),
    View("/statements/{fingerprint_id}", "statement.html", statements.one_statement),
    View("/collector", "collector.html", collector.collector, has_scope=False),
    View("/sql", "sql.html", sql.sql, sql.PARAMS, has_scope=False, is_live=False),
    View("/suggestions", "suggestions.html", suggestions.suggestions, has_scope=False, is_live=False),
    View("/advice", "advice.html", advice.advice, advice.PARAMS, is_live=False, version=advice.decisions),
    View("/transactions", "find/transactions.html", transactions.transactions, transactions.PARAMS),
    View("/incidents", "incidents/all.html", incidents.all_incidents, incidents.PARAMS, has_scope=False),
    View("/incidents/{id}", "incidents/one.html", incidents.one_incident, has_scope=False),
    View(
        "/transactions/{trace}",
        "transaction.html",
        transaction.transaction,
        transaction.PARAMS,
        has_scope=False,
        is_live=False,
    ),
)


def page_routes(pages: Pages, sources: Sources) -> list[Route]:
    """Return the routes of all views and of the static files."""
    shared = SharedAnswers[Content]()
    routes = [pages.static_files.route(), grafana_route()]
    for view in VIEWS:
        endpoint = _endpoint(view, pages, shared, sources)
        beginning, has_names, _ = view.pattern.partition("{")
        paths = [f"{beginning}{{rest:path}}"] if has_names else [view.pattern, f"{view.pattern}.json"]
        routes += [Route(path, endpoint) for path in paths]
    return routes


def _endpoint(
    view: View, pages: Pages, shared: SharedAnswers[Content], sources: Sources
) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        raw_path = request.scope["raw_path"]
        is_json = raw_path.endswith(b".json")
        raw_path = raw_path.removesuffix(b".json")
        path = path_names(view.pattern, raw_path)
        if path is None:
            raise HTTPException(404)
        if not is_json:
            request.scope[ERROR_PAGE] = error_page(pages, request, view)
        is_admin = sources.access.is_admin(request.headers.get("authorization", ""))
        read_at = partial(read, request, sources, path=path, own_params=view.own_params, is_admin=is_admin)
        asked, period_s = read_at(now_ns=now_ns(PERIOD_S)), PERIOD_S
        if view.has_scope and (longer_s := sources.explanations.period_s(asked.scope.window)) > period_s:
            asked, period_s = read_at(now_ns=now_ns(longer_s)), longer_s

        def content() -> Content:
            model = view.show(asked)
            if is_json:
                return Content.of(json.dumps(asdict(model), ensure_ascii=False).encode(), _JSON)
            return Content.of(pages.html(view.template, _frame(raw_path, view, asked, period_s), page=model), _HTML)

        key = (raw_path, is_json, asked.now_ns, period_s, is_admin, view.version(asked), *sorted(asked.params.items()))
        return shared.get(key, content).response(request)

    return endpoint


def _frame(raw_path: bytes, view: View, request: PageRequest, period_s: int) -> Frame:
    params = {name: text for name, text in request.params.items() if text != view.own_params.get(name)}
    return Frame(
        raw_path.decode("latin-1"),
        params,
        {name: text for name, text in params.items() if name not in SCOPE_PARAMS},
        view.has_scope,
        period_s if _is_live(view, request) else 0,
        request.during,
        view.scope_part,
    )


def _is_live(view: View, request: PageRequest) -> bool:
    return view.is_live and request.params["time"].lower().startswith("last") and request.during is None


def error_page(pages: Pages, request: Request, view: View | None = None) -> Callable[[int, str, str, str], Response]:
    """What makes the page of an error that this request ends with."""

    def page(status: int, where: str, what: str, what_now: str) -> Response:
        scope_part = view.scope_part if view else ""
        defaults = {**SCOPE_PARAMS, **(view.own_params if view and scope_part else {})}
        params = {name: text for name, text in request.query_params.items() if name in defaults}
        raw_path = request.scope["raw_path"].decode("latin-1")
        has_scope = view is not None and view.has_scope
        frame = Frame(raw_path, {**defaults, **params}, {}, has_scope, live_s=0, scope_part=scope_part)
        problem = {"status": status, "where": where, "what": what, "what_now": what_now}
        return Content.of(pages.html("error.html", frame, problem=problem), _HTML).response(request, status)

    return page
