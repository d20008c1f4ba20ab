"""Options of several commands; the global ones stand before or after the name of the command."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any, Final

import click

from ..errors import CommandFailed
from .client import Client
from .output import MOST_ROWS

DEFAULT_URL: Final = "http://127.0.0.1:8464"
FILE: Final = click.Path(path_type=Path)
LOOKED_AT: Final = "How much time to look at: 90s, 15m, 2h, 7d."
"""Of --since, where it is not from then until now."""
_GLOBAL: Final = (
    click.option("--url", help=f"Web address of the collector; or WALLTIME_URL. [{DEFAULT_URL}]"),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
    click.option(
        "--token-file", type=FILE, help="File of the token; or WALLTIME_TOKEN_FILE. WALLTIME_TOKEN is the token itself."
    ),
    click.option(
        "--client-certificate",
        type=FILE,
        help="PEM file of the certificate and key for TLS; or WALLTIME_CLIENT_CERTIFICATE.",
    ),
)

text_option = partial(click.option, default="", show_default=False)
"""An option that is empty when it is left out."""


def limit_option(limit: int, what: str = "") -> Callable[..., Any]:
    """--limit."""
    kind = click.IntRange(1, MOST_ROWS)
    return click.option("--limit", type=kind, default=limit, help=f"At most this many{what and f' {what}'}.")


def since_option(since: str, help_text: str = "How far back: 90s, 15m, 2h, 7d.") -> Callable[..., Any]:
    """--since."""
    return click.option("--since", default=since, help=help_text)


def global_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the global options to a command."""
    for option in reversed(_GLOBAL):  # the lowest decorator comes first
        function = option(function)
    return function


def with_global_options(command: Callable[..., None]) -> Callable[..., None]:
    """
    Add the global options to a command, which receives `client` and `as_json` in their place.

    An option after the command wins over one before it, and that over the environment.
    """

    @global_options
    @wraps(command)
    def run(**params: Any) -> None:
        before = click.get_current_context().obj
        given = {name: params.pop(name) or value for name, value in before.items()}
        as_json = given.pop("as_json")
        command(client=_client(**given), as_json=as_json, **params)

    return run


def read_token(path: Path) -> str:
    """
    Read a token from its file.

    Raises:
        CommandFailed: The file cannot be read.
    """
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"{path}: cannot be read: {getattr(error, 'strerror', 'not a token')}") from error


def _client(url: str | None, token_file: Path | None, client_certificate: Path | None) -> Client:
    token_file = token_file or _path("WALLTIME_TOKEN_FILE")
    token = os.environ.get("WALLTIME_TOKEN", "") if token_file is None else read_token(token_file)
    if not (token.isascii() and token.isprintable()):
        raise CommandFailed("WALLTIME_TOKEN or --token-file: not a token; a token is letters and digits")
    try:
        url = url or os.environ.get("WALLTIME_URL") or DEFAULT_URL
        return Client(url, token, client_certificate or _path("WALLTIME_CLIENT_CERTIFICATE"))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--url") from error


def _path(variable: str) -> Path | None:
    return Path(os.environ[variable]) if os.environ.get(variable) else None
