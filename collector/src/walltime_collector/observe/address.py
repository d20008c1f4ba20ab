"""The addresses of observed servers: `mysql://user@host:3306?password_file=…`, `redis://host:6379/0`, `host:11211`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from ..errors import SettingsRefused
from ..query.other_side import DEFAULT_PORTS


@dataclass(frozen=True)
class Address:
    """A server, and how to get in."""

    name: str
    """As the applications know it, `10.0.0.5:3306` or the path of a socket: `target.address` of their bills."""
    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    path: str = ""
    """What follows the port, without the first `/`: a database's name or number."""
    options: Mapping[str, str] = field(default_factory=dict)


def parse(text: str, setting: str, scheme: str, known: Sequence[str], password: str = "") -> Address:
    """
    Read `NAME=URL` or `URL`; without a scheme it is `scheme`. The name is `host:port` unless it is given.

    Args:
        setting: Where the text comes from, for messages.
        known: Names of the options that may follow `?`; `password_file` is always one.
        password: Of all servers of this setting, where the URL names no file of its own.

    Raises:
        SettingsRefused: It is no address, has a password in it, or an option that nobody knows.
    """
    name, equals, url = text.partition("=")
    if "?" in name or not equals:  # the first = is of an option
        name, equals, url = "", "", text
    url = url if "://" in url else f"{scheme}://{url}"
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORTS[parts.scheme]
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except (ValueError, KeyError):
        # the text may have a password in it, so it is not repeated
        raise SettingsRefused(f"{setting}: not an address; write [NAME=]{scheme}://[user@]host:port") from None
    shown = f"{parts.hostname or ''}:{port}"
    if parts.password is not None:
        raise SettingsRefused(
            f"{setting} {shown}: has a password in it, which others can read; write ?password_file=PATH instead, or set"
            f" WALLTIME_{scheme.upper()}_PASSWORD or WALLTIME_{scheme.upper()}_PASSWORD_FILE"
        )
    if unknown := [each for each in options if each not in (*known, "password_file")]:
        names = ", ".join(("password_file", *known))
        raise SettingsRefused(f"{setting} {shown}: there is no option {unknown[0]!r}; it knows {names}")
    socket = options.get("socket", "")
    if not parts.hostname and not socket:
        raise SettingsRefused(f"{setting}: names no host; write [NAME=]{scheme}://[user@]host:port")
    if file := options.get("password_file"):
        password = _read(Path(file), f"{setting} {shown}")
    return Address(
        name if equals else socket or shown,
        parts.scheme,
        parts.hostname or "",
        port,
        unquote(parts.username or ""),
        password,
        unquote(parts.path.removeprefix("/")),
        options,
    )


def _read(path: Path, where: str) -> str:
    try:
        return path.expanduser().read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise SettingsRefused(f"{where}: password_file {path}: cannot be read: {reason}") from error
