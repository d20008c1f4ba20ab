"""
Refuses requests whose Host header is not a name of this machine, and changes by pages of other sites.

Starlette's TrustedHostMiddleware is not enough: it knows no addresses (127.0.0.0/8, ::1), and its error is plain text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection

from starlette.types import ASGIApp, Receive, Scope, Send

from ..format import quoted
from .responses import problem

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]*:[0-9a-f:.]*\]|[0-9a-z_-]+(\.[0-9a-z_-]+)*)\.?(:(?P<port>[0-9]{0,5}))?")
_MAX_PORT = 65_535
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")


class HostCheck:
    """
    Protects against DNS rebinding.

    A web page can point its own name at 127.0.0.1 and read what answers there, but the browser still sends that name.
    No CORS header is ever sent, so other origins read nothing either.

    Args:
        allowed_hosts: Accepted names besides the loopback ones.
        any_address: Accept every IP address, for a port that other machines can reach.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Collection[str], any_address: bool) -> None:
        self._app = app
        self._names = {name.lower() for name in allowed_hosts} | {"localhost"}
        self._any_address = any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on accepted requests, answer 421 to the others."""
        host = _header(scope, b"host") or ""
        if scope["type"] != "http" or self._is_accepted(host):
            return await self._app(scope, receive, send)
        what = f"{quoted(host)} is not a name of this collector"
        return await problem(421, "Host", what, "use localhost or 127.0.0.1")(scope, receive, send)

    def _is_accepted(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None or int(match["port"] or 0) > _MAX_PORT:
            return False
        name = match["name"]
        if name in self._names or name.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return address.is_loopback or self._any_address


class SiteCheck:
    """
    Refuses POST and other changes by pages of other sites.

    A page can send a form to any address, with the cookies of that address. Browsers then say where it comes from: in
    Sec-Fetch-Site to addresses that they trust, else in Origin.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on accepted requests, answer 403 to the others."""
        site, origin = _header(scope, b"sec-fetch-site"), _header(scope, b"origin")
        is_own = site in ("same-origin", "none")
        if site is None:
            is_own = origin is None or origin.partition("://")[2] == _header(scope, b"host")
        if is_own or scope["method"] in _SAFE_METHODS:
            return await self._app(scope, receive, send)
        what = "a page of another site may not send this"
        return await problem(403, "Origin", what, "use the pages of this collector")(scope, receive, send)


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1").lower() for each, value in scope.get("headers", ()) if each == name), None)
