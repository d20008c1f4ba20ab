"""The secret with which a request may ask for its own detail, and for its bill in the answer."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

HEADER: Final = "HTTP_X_WALLTIME_FORCE"
"""`X-Walltime-Force: <the secret>`, as WSGI names it."""

secret = b""
"""Set by `configure`; empty: nobody may ask."""


def is_forced(headers: Mapping[str, Any]) -> bool:
    """Say whether the request has the secret; takes the same time for every wrong one of the same length."""
    given = headers.get(HEADER)
    if given is None or not secret:
        return False
    return hmac.compare_digest(str(given).encode("latin-1", "replace"), secret)
