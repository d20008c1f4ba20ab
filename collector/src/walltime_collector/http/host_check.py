"""
Refuses requests whose Host header is not a name of this machine.

Starlette's TrustedHostMiddleware is not enough: it knows no addresses (127.0.0.0/8, ::1), and its error is plain text.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection

from starlette.types import ASGIApp, Receive, Scope, Send

from ..format import quoted
from .responses import problem


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
        host = next((value for name, value in scope.get("headers", ()) if name == b"host"), b"").decode("latin-1")
        if scope["type"] != "http" or self._is_accepted(host):
            return await self._app(scope, receive, send)
        what = f"{quoted(host)} is not a name of this collector"
        return await problem(421, "Host", what, "use localhost or 127.0.0.1")(scope, receive, send)

    def _is_accepted(self, host: str) -> bool:
        name, _, port = host.rpartition(":") if ":" in host and not host.endswith("]") else (host, "", "")
        if port and not port.isdecimal():
            return False
        name = name.lower().rstrip(".")
        if name in self._names or name.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return address.is_loopback or self._any_address
