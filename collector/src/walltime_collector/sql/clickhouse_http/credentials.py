"""The password of a request, in each of the ways in which ClickHouse's clients send one."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from ...http.authentication import bearer


def password(headers: Mapping[bytes, str], parameters: Mapping[str, str]) -> bytes:
    """
    The first there is of: X-ClickHouse-Key, Authorization (Basic or Bearer), `password` in the URL; else empty.

    The user's name is not looked at: there is one password for all.
    """
    if key := headers.get(b"x-clickhouse-key"):
        return key.encode("latin-1")
    authorization = headers.get(b"authorization", "")
    if token := bearer(authorization.encode("latin-1")):
        return token
    scheme, _, credentials = authorization.partition(" ")
    if scheme.lower() == "basic" and (basic := _basic(credentials)):
        return basic
    return parameters.get("password", "").encode()


def _basic(credentials: str) -> bytes:
    try:
        return base64.b64decode(credentials, validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""
