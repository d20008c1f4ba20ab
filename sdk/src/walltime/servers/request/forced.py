"""The request header that asks for the detail of this request, and for its bill in the response."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

HEADER: Final = "HTTP_X_WALLTIME_FORCE"
"""`X-Walltime-Force: <the secret>`, under its WSGI name."""


def is_forced(headers: Mapping[str, Any], secret: str) -> bool:
    """Say whether the request has the secret; compares in constant time."""
    given = headers.get(HEADER)
    return given is not None and hmac.compare_digest(str(given).encode("latin-1", "replace"), secret.encode())
