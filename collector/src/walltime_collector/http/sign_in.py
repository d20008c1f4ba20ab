"""Authentication of the web port: a token in a header for programs, a form and a cookie for browsers."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from html import escape
from importlib.resources import files
from string import Template
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from .authentication import Credential, bearer
from .guesses import Guesses
from .ports.connections import limited_address
from .responses import HEADERS, problem

PUBLIC = ("/healthz", "/readyz", "/login")
"""Paths that need no token; the first two return less without one."""
MAY_READ = "walltime.may_read"
"""Key of the ASGI scope: whether the request is authenticated for reading."""
_COOKIE = "walltime"
_COOKIE_AGE_S = 7 * 86_400
_MAX_FORM_BYTES = 4096
_PAGE = Template((files(__package__) / "sign_in.html").read_text("utf-8"))
_PAGE_HEADERS = {
    **HEADERS,
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers name `null` as the origin of the form
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    "frame-ancestors 'none'",
}


class SignIn:
    """
    Accepts the read token, the admin token, or the cookie that the form sets; answers 401 to other requests.

    The cookie permits reading only. It is signed with the token, so that a new token ends it; it expires in a week.
    SameSite=Strict and HttpOnly keep it from pages of other sites and from scripts.
    """

    def __init__(self, app: ASGIApp, credential: Credential, now_s: Callable[[], float] = time.time) -> None:
        self._app, self._credential, self._now_s = app, credential, now_s
        self._guesses = Guesses()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on authenticated requests and public paths."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request = Request(scope)
        authorization = request.headers.get("authorization", "").encode("latin-1")
        scope[MAY_READ] = self._credential.accepts_bearer(authorization) or self._has_cookie(request)
        if scope[MAY_READ] or scope["path"] in PUBLIC:
            return await self._app(scope, receive, send)
        if (token := bearer(authorization)) and not await self._guesses.wrong(_client_address(request), token):
            return await _too_many()(scope, receive, send)
        return await _unauthorized(request)(scope, receive, send)

    def _has_cookie(self, request: Request) -> bool:
        # not http.cookies: before Python 3.11.10 it takes 5 s for 30 KB of backslashes (CVE-2024-7592)
        cookies = (each.strip().partition("=") for each in request.headers.get("cookie", "").split(";"))
        expires, _, signature = next((value for name, _, value in cookies if name == _COOKIE), "").partition(".")
        if not (expires.isascii() and expires.isdecimal() and len(expires) < 12 and self._now_s() < int(expires)):
            return False
        signatures = self._credential.signatures(expires)
        return any(hmac.compare_digest(signature.encode(), each.encode()) for each in signatures)


def login_route(credential: Credential, now_s: Callable[[], float] = time.time) -> Route:
    """/login: GET returns the form; POST checks the token and sets the cookie."""
    guesses = Guesses()

    async def login(request: Request) -> Response:
        if request.method == "GET":
            return _form(_local_path(request.query_params.get("next", "/")), "", 200)
        fields = await _fields(request)
        token, path = fields.get("token", ""), _local_path(fields.get("next", "/"))
        if credential.is_unset or not credential.accepts(token.encode()):
            if not await guesses.wrong(_client_address(request), token.encode()):
                return _too_many()
            return _form(path, "This is not the token.", 401)
        expires = str(int(now_s()) + _COOKIE_AGE_S)
        response = RedirectResponse(path, 303, {"Cache-Control": "no-store"})
        response.set_cookie(
            _COOKIE,
            f"{expires}.{Credential(token).signatures(expires)[0]}",
            max_age=_COOKIE_AGE_S,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return response

    return Route("/login", login, methods=["GET", "POST"])


def _client_address(request: Request) -> str:
    """The address of the client, as it is limited: see connections.limited_address."""
    return limited_address(request.client.host) if request.client else ""


def _too_many() -> Response:
    response = problem(429, "token", "too many wrong tokens came from this address", "wait, and correct the token")
    response.headers["Retry-After"] = "10"
    return response


async def _fields(request: Request) -> dict[str, str]:
    # Starlette's request.form() has no limit of bytes for this content type
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_FORM_BYTES:
            return {}
    try:
        return dict(parse_qsl(body.decode("ascii"), max_num_fields=8))
    except ValueError:
        return {}


def _local_path(path: str) -> str:
    """A path of this server for the redirect, whatever the request contains."""
    is_local = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return quote(path, safe="/?&=%:,.~-_+") if is_local else "/"


def _form(path: str, message: str, status: int) -> Response:
    return HTMLResponse(_PAGE.substitute(next=escape(path), message=escape(message)), status, _PAGE_HEADERS)


def _unauthorized(request: Request) -> Response:
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        query = f"?{request.url.query}" if request.url.query else ""
        return _form(_local_path(request.url.path + query), "", 401)
    advice = "give WALLTIME_TOKEN or --token-file to the command, or send Authorization: Bearer …"
    response = problem(401, "Authorization", "this collector wants a token", advice)
    response.headers["WWW-Authenticate"] = "Bearer"
    return response
