"""Checks values of settings: each function returns what is wrong, for a message, or "" when the value is valid."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

EXPORTERS: Final = ("otlp", "console")
COMPONENTS: Final = (
    "middleware", "view", "template.render", "serialize", "orm.compile", "orm.load", "session", "auth",
)  # fmt: skip
"""The components of frameworks (`core/components.py`)."""
LEAST_SECRET_CHARS: Final = 16
MAX_HZ: Final = 1000

_HEADER_NAME: Final = re.compile(r"[!#-'*+\-.0-9A-Z^-z|~]+")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def text(value: str) -> str:
    return "" if _is_encodable(value) else "is not valid UTF-8"


def words(value: tuple[str, ...]) -> str:
    return "" if all(map(_is_encodable, value)) else "is not valid UTF-8"


def rate(value: float) -> str:
    return "" if value == 0 or 1 <= value <= MAX_HZ else f"is neither 0 nor from 1 to {MAX_HZ}"


def exporters(value: tuple[str, ...]) -> str:
    unknown = [name for name in value if name not in EXPORTERS]
    return "names an exporter that is none of otlp, console and none" if unknown else ""


def components(value: tuple[str, ...]) -> str:
    is_known = set(value).issubset(COMPONENTS)
    return "" if is_known else f"names a component that is none of {', '.join(COMPONENTS)}"


def address(value: str) -> str:
    return "" if not value or _is_address(value) else "is not an http(s) address; give http://host:4318/v1/traces"


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
            return False
        parts.hostname.encode("idna")  # as connecting does: labels that are empty or too long
        login = f"{parts.username}{parts.password}"
    except ValueError:  # a port beyond 65535, half an IPv6 address
        return False
    if any(letter.isspace() or not letter.isprintable() for letter in parts.netloc):
        return False
    return _is_encodable(login) and parts.path.isascii() and parts.path.isprintable() and " " not in parts.path


def headers(value: Mapping[str, str]) -> str:
    for name, content in value.items():
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
            return "has a name that no HTTP header can have"
        if not isinstance(content, str) or _CONTROL.search(content) or not _is_encodable(content, "latin-1"):
            return f"has a value for {name} that no HTTP header can have"
    return ""


def secret(value: str) -> str:
    if 0 < len(value) < LEAST_SECRET_CHARS:
        return f"is shorter than {LEAST_SECRET_CHARS} characters; others would guess it"
    return text(value)


def share(value: float) -> str:
    return "" if value <= 1.0 else "is not between 0 and 1"


def above_zero(value: float) -> str:
    return "" if value > 0 else "is not above 0"


def _is_encodable(value: str, encoding: str = "utf-8") -> bool:
    """False for half of a character, which the environment has for bytes that are not UTF-8."""
    try:
        value.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
