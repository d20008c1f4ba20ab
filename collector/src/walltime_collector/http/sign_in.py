"""Who may ask on the web port: a token in a header for programs, a form and a cookie for people."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from html import escape
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from .authentication import Credential

PUBLIC = ("/healthz", "/readyz", "/login")
"""What is answered to everybody; the first two say less to who may not read."""
MAY_READ = "walltime.may_read"
"""Key of the scope: whether the asker may read."""
_COOKIE = "walltime"
_LASTS_S = 7 * 86_400
_MOST_FORM_BYTES = 4096
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Walltime</title>
<style>body{{font:1em system-ui;margin:15vh auto;max-width:22em;padding:0 1em}}input{{font:inherit;width:100%;
box-sizing:border-box;padding:.4em}}button{{font:inherit;margin-top:.8em;padding:.4em 1.2em}}</style>
<h1>Walltime</h1><form method="post" action="/login"><label>Read token
<input type="password" name="token" autofocus autocomplete="current-password" required></label>
<input type="hidden" name="next" value="{next}"><button>Sign in</button></form><p role="alert">{said}</p></html>
"""
_PAGE_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    "frame-ancestors 'none'",
}


class SignIn:
    """
    Lets in who shows the read or the admin token, or the cookie that the form gives for it; 401 for the others.

    The cookie reads and never changes anything. It is signed with the token, so a new token ends it; it lasts a week.
    A page of another site cannot make the browser send it (SameSite=Strict), nor a script read it (HttpOnly).
    """

    def __init__(self, app: ASGIApp, credential: Credential, now_s: Callable[[], float] = time.time) -> None:
        self._app, self._credential, self._now_s = app, credential, now_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may come in."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request = Request(scope)
        may_read = self._credential.accepts_bearer(_header(request, "authorization")) or self._knows(request)
        scope[MAY_READ] = may_read
        if may_read or scope["path"] in PUBLIC:
            return await self._app(scope, receive, send)
        return await _refuse(request)(scope, receive, send)

    def _knows(self, request: Request) -> bool:
        try:
            cookie = SimpleCookie(request.headers.get("cookie", "")).get(_COOKIE)
        except CookieError:
            return False
        expires, _, signature = (cookie.value if cookie else "").partition(".")
        if not (expires.isascii() and expires.isdecimal() and len(expires) < 12 and self._now_s() < int(expires)):
            return False
        return any(
            hmac.compare_digest(signature.encode(), each.encode()) for each in self._credential.signatures(expires)
        )


def login_route(credential: Credential, now_s: Callable[[], float] = time.time) -> Route:
    """GET /login is the form; POST takes it, and answers with the cookie."""

    async def login(request: Request) -> Response:
        if request.method == "GET":
            return _form(_inside(request.query_params.get("next", "/")), "", 200)
        fields = await _fields(request)
        token, beyond = fields.get("token", ""), _inside(fields.get("next", "/"))
        if credential.is_unset or not credential.accepts(token.encode()):
            return _form(beyond, "This is not the token.", 401)
        expires = str(int(now_s()) + _LASTS_S)
        answer = RedirectResponse(beyond, 303, {"Cache-Control": "no-store"})
        answer.set_cookie(
            _COOKIE,
            f"{expires}.{Credential(token).signatures(expires)[0]}",
            max_age=_LASTS_S,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return answer

    return Route("/login", login, methods=["GET", "POST"])


async def _fields(request: Request) -> dict[str, str]:
    from urllib.parse import parse_qsl

    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_FORM_BYTES:
            return {}
    try:
        return dict(parse_qsl(body.decode("ascii"), max_num_fields=8))
    except ValueError:
        return {}


def _inside(path: str) -> str:
    """Where to go on: a page of ours, whatever was asked for."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return quote(path, safe="/?&=%:,.~-_") if is_ours else "/"


def _form(beyond: str, said: str, status: int) -> Response:
    return HTMLResponse(_PAGE.format(next=escape(beyond), said=escape(said)), status, _PAGE_HEADERS)


def _refuse(request: Request) -> Response:
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        query = f"?{request.url.query}" if request.url.query else ""
        return _form(_inside(request.url.path + query), "", 401)
    said = {
        "where": "Authorization",
        "what": "this collector wants a token",
        "what_now": "give WALLTIME_TOKEN or --token-file to the command, or send Authorization: Bearer …",
    }
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "WWW-Authenticate": "Bearer"}
    return JSONResponse({"error": said}, 401, headers)


def _header(request: Request, name: str) -> bytes:
    return request.headers.get(name, "").encode("latin-1")
