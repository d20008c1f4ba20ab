"""CORS for OTLP/HTTP: lets pages of named origins send, as browsers' SDKs do. Without such origins no page may."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from starlette.middleware.cors import CORSMiddleware

from ..errors import SettingsRefused

_ORIGIN = re.compile(r"https?://[^/?#\s]+", re.IGNORECASE)
_LABELS = r"[^/.:]+(\.[^/.:]+)*"
_PREFLIGHT_HOLDS_S = 600

OriginCheck = Callable[[str], bool]


def origin_pattern(origins: Sequence[str]) -> re.Pattern[str] | None:
    """
    A pattern of the allowed origins; None without any.

    Args:
        origins: `https://shop.example.com`, `https://*.example.com` for all below it, or `*` for every page there is.

    Raises:
        SettingsRefused: One of them cannot be an origin.
    """
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise SettingsRefused(
                f"WALLTIME_CORS_ALLOWED_ORIGINS {origin}: not an origin; write scheme, host and port alone, "
                "as in https://shop.example.com"
            )
    if not origins:
        return None
    parts = [".*" if each == "*" else _LABELS.join(map(re.escape, each.lower().split("*"))) for each in origins]
    return re.compile("|".join(f"(?:{part})" for part in parts))


def with_cors(app: Any, pattern: re.Pattern[str]) -> Any:
    """The ASGI application behind one that answers preflight requests and lets these origins read the answers."""
    return CORSMiddleware(
        app,
        allow_origin_regex=pattern.pattern,
        allow_methods=["POST"],
        allow_headers=["*"],  # an SDK may be told to send any, and none of them means anything here but the token's
        allow_credentials=True,  # sendBeacon asks for it always; no cookie is read on this port
        max_age=_PREFLIGHT_HOLDS_S,
    )
