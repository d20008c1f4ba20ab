"""Who sent a statement, in a few words for the log; a password is never among them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from ..format import printable

_LONGEST = 100


def describe_client(scope: Mapping[str, Any]) -> str:
    """
    Return address, user and program of the client of a request, as far as it says them.

    Args:
        scope: Of ASGI.
    """
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    address = ":".join(str(part) for part in scope.get("client") or ("an unknown address",))
    user = headers.get(b"x-clickhouse-user") or _basic_user(headers.get(b"authorization", ""))
    parts = [address, f"user {user}" if user else "", headers.get(b"user-agent", "")]
    return ", ".join(printable(part)[:_LONGEST] for part in parts if part)


def _basic_user(authorization: str) -> str:
    scheme, _, credentials = authorization.partition(" ")
    try:
        known = base64.b64decode(credentials, validate=True) if scheme.lower() == "basic" else b""
    except (binascii.Error, ValueError):
        return ""
    return known.partition(b":")[0].decode("utf-8", "replace")
