"""The few things of a web framework the shop needs: routes with templates, a request, a response."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import walltime

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

FORM_LIMIT_BYTES = 64 * 1024


@dataclass(frozen=True)
class Request:
    """What a page is called with; `path` holds the parts the route's template names."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    user: int


@dataclass(frozen=True)
class Response:
    body: str = ""
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/html; charset=utf-8"


Page = Callable[[Request], Response]


class BadRequestError(Exception):
    """The visitor's input makes no sense; the message is for them."""


def see_other(location: str) -> Response:
    return Response(status=HTTPStatus.SEE_OTHER, headers={"Location": location})


def not_found(what: str) -> Response:
    return Response(f"No such {what}.\n", HTTPStatus.NOT_FOUND, content_type="text/plain; charset=utf-8")


class Router:
    """A WSGI application out of `"GET /product/{id}"` → page."""

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self.routes = [(route, *_compiled(route), page) for route, page in pages.items()]

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            response = self.respond(environ)
        except BadRequestError as problem:
            response = Response(f"{problem}\n", HTTPStatus.BAD_REQUEST, content_type="text/plain; charset=utf-8")
        body = response.body.encode()
        headers = [("Content-Type", response.content_type), ("Content-Length", str(len(body)))]
        start_response(f"{response.status.value} {response.status.phrase}", [*headers, *response.headers.items()])
        return [body]

    def respond(self, environ: WSGIEnvironment) -> Response:
        for route, method, path, page in self.routes:
            found = path.fullmatch(environ["PATH_INFO"])
            if found and method == environ["REQUEST_METHOD"]:
                request = _request(environ, found.groupdict())
                transaction = walltime.current()
                transaction.set_name(route)
                transaction.set_user(str(request.user))
                return page(request)
        return not_found("page")


def _compiled(route: str) -> tuple[str, re.Pattern[str]]:
    method, _, template = route.partition(" ")
    return method, re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template))


def _request(environ: WSGIEnvironment, path: Mapping[str, str]) -> Request:
    length = environ.get("CONTENT_LENGTH") or "0"
    if not length.isdigit() or int(length) > FORM_LIMIT_BYTES:
        raise BadRequestError("That form is too long.")
    form = environ["wsgi.input"].read(int(length)).decode(errors="replace")
    cookie = SimpleCookie(environ.get("HTTP_COOKIE", "")).get("user")
    return Request(
        path=path,
        query=_first(parse_qs(environ.get("QUERY_STRING", ""))),
        form=_first(parse_qs(form)),
        user=int(cookie.value) if cookie and cookie.value.isdigit() else 1,
    )


def _first(values: Mapping[str, list[str]]) -> dict[str, str]:
    return {name: given[0] for name, given in values.items()}
