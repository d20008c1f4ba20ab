"""The secret with which a request may ask for its own detail, and for its bill in the answer."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

HEADER: Final = "HTTP_X_WALLTIME_FORCE"
"""`X-Walltime-Force: <the secret>`, as WSGI names it."""


def is_forced(headers: Mapping[str, Any], secret: str) -> bool:
    """Say whether the request has the secret; takes the same time for every wrong one of the same length."""
    given = headers.get(HEADER)
    return given is not None and hmac.compare_digest(str(given).encode("latin-1", "replace"), secret.encode())
