"""CORS for OTLP/HTTP: web pages of the configured origins may send; by default none may."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from starlette.middleware.cors import CORSMiddleware

from ..errors import SettingsRefused

_ORIGIN = re.compile(r"https?://[^/?#\s]+", re.IGNORECASE)
_LABELS = r"[^/.:]+(\.[^/.:]+)*"
_PREFLIGHT_MAX_AGE_S = 600
_MAX_ORIGIN_CHARACTERS = 500
"""A pattern with several `*` takes a time that grows with the square of the length."""


def origin_pattern(origins: Sequence[str]) -> re.Pattern[str] | None:
    """
    A pattern of the allowed origins; None without any.

    Args:
        origins: `https://shop.example.com`, `https://*.example.com` for all subdomains, or `*` for all origins.

    Raises:
        SettingsRefused: One of them is not an origin.
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
    return re.compile(rf"(?=.{{0,{_MAX_ORIGIN_CHARACTERS}}}\Z)(?:{'|'.join(f'(?:{part})' for part in parts)})")


def with_cors(app: Any, pattern: re.Pattern[str]) -> Any:
    """The ASGI application with preflight requests answered, and its responses readable by these origins."""
    return CORSMiddleware(
        app,
        allow_origin_regex=pattern.pattern,
        allow_methods=["POST"],
        allow_headers=["*"],  # SDKs can be configured to send any; only the token's has a meaning here
        allow_credentials=True,  # sendBeacon always requires it; this port reads no cookies
        max_age=_PREFLIGHT_MAX_AGE_S,
    )
