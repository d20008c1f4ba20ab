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
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..http.responses import ERROR_PAGE
from .content import Content
from .render import Frame, Pages
from .request import SCOPE_PARAMS, PageRequest, Sources, path_names, read
from .shared_answers import PERIOD_NS, SharedAnswers
from .views import collector, kind, later, overview, servers, sql, statements, transaction

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
    """Whether it is fetched again every 10 seconds while `time` begins with `last` and nothing is selected."""


VIEWS = (
    View("/", "overview.html", overview.overview, overview.PARAMS),
    View("/kinds/{service}/{name}", "kind.html", kind.kind, kind.PARAMS),
    View("/servers", "servers.html", servers.all_servers),
    View("/servers/{component}/{address}", "server.html", servers.one_server),
    View("/statements", "statements.html", statements.all_statements, statements.PARAMS),
    View("/statements/{fingerprint_id}", "statement.html", statements.one_statement),
    View("/collector", "collector.html", collector.collector, has_scope=False),
    View("/sql", "sql.html", sql.sql, sql.PARAMS, has_scope=False, is_live=False),
    View("/advice", "later.html", later.advice, has_scope=False, is_live=False),
    View("/incidents", "later.html", later.incidents, has_scope=False, is_live=False),
    View(
        "/transactions/{trace}",
        "transaction.html",
        transaction.transaction,
        transaction.PARAMS,
        has_scope=False,
        is_live=False,
    ),
)


def page_routes(pages: Pages, sources: Sources, is_admin: Callable[[Request], bool]) -> list[Route]:
    """
    Return the routes of all views and of the static files.

    Args:
        is_admin: Whether a request may see paths, addresses and messages of the database.
    """
    shared = SharedAnswers[Content]()
    routes = [pages.static_files.route()]
    for view in VIEWS:
        endpoint = _endpoint(view, pages, shared, sources, is_admin)
        beginning, has_names, _ = view.pattern.partition("{")
        paths = [f"{beginning}{{rest:path}}"] if has_names else [view.pattern, f"{view.pattern}.json"]
        routes += [Route(path, endpoint) for path in paths]
    return routes


def _endpoint(
    view: View,
    pages: Pages,
    shared: SharedAnswers[Content],
    sources: Sources,
    is_admin: Callable[[Request], bool],
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
        now_ns = time.time_ns() // PERIOD_NS * PERIOD_NS
        asked = read(request, sources, path=path, own_params=view.own_params, now_ns=now_ns, is_admin=is_admin(request))

        def content() -> Content:
            model = view.show(asked)
            if is_json:
                return Content.of(json.dumps(asdict(model), ensure_ascii=False).encode(), _JSON)
            return Content.of(pages.html(view.template, _frame(raw_path, view, asked), page=model), _HTML)

        key = (raw_path, is_json, now_ns, asked.is_admin, *sorted(asked.params.items()))
        return shared.get(key, content).response(request)

    return endpoint


def _frame(raw_path: bytes, view: View, request: PageRequest) -> Frame:
    params = {name: text for name, text in request.params.items() if text != view.own_params.get(name)}
    return Frame(
        raw_path.decode("latin-1"),
        params,
        {name: text for name, text in params.items() if name not in SCOPE_PARAMS},
        view.has_scope,
        view.is_live and request.params["time"].lower().startswith("last") and request.during is None,
        request.during,
    )


def error_page(pages: Pages, request: Request, view: View | None = None) -> Callable[[int, str, str, str], Response]:
    """What makes the page of an error that this request ends with."""

    def page(status: int, where: str, what: str, what_now: str) -> Response:
        params = {name: text for name, text in request.query_params.items() if name in SCOPE_PARAMS}
        raw_path = request.scope["raw_path"].decode("latin-1")
        frame = Frame(raw_path, {**SCOPE_PARAMS, **params}, {}, view is not None and view.has_scope, is_live=False)
        problem = {"status": status, "where": where, "what": what, "what_now": what_now}
        return Content.of(pages.html("error.html", frame, problem=problem), _HTML).response(request, status)

    return page
