"""The client of a request: its password, and a description of it for the log."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from ..format import printable
from ..http.authentication import bearer

_MAX_CHARACTERS = 100


def describe_client(scope: Mapping[str, Any]) -> str:
    """Address, user and program of the client of an ASGI scope, never its password."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    address = ":".join(str(part) for part in scope.get("client") or ("an unknown address",))
    user = headers.get(b"x-clickhouse-user") or _basic(headers)[0].decode("utf-8", "replace")
    parts = [address, f"user {user}" if user else "", headers.get(b"user-agent", "")]
    return ", ".join(printable(part)[:_MAX_CHARACTERS] for part in parts if part)


def password(headers: Mapping[bytes, str], parameters: Mapping[str, str]) -> bytes:
    """
    The first there is of: X-ClickHouse-Key, Authorization (Bearer or Basic), `password` in the URL; otherwise empty.

    The user's name is ignored: all users have one password.
    """
    if key := headers.get(b"x-clickhouse-key"):
        return key.encode("latin-1")
    token = bearer(headers.get(b"authorization", "").encode("latin-1")) or _basic(headers)[1]
    return token or parameters.get("password", "").encode()


def _basic(headers: Mapping[bytes, str]) -> tuple[bytes, bytes]:
    """User and password of HTTP's basic authentication; empty without it."""
    scheme, _, credentials = headers.get(b"authorization", "").partition(" ")
    try:
        decoded = base64.b64decode(credentials, validate=True) if scheme.lower() == "basic" else b""
    except (binascii.Error, ValueError):
        return b"", b""
    user, _, secret = decoded.partition(b":")
    return user, secret
