"""Global options: every command that asks the collector accepts them, before or after the name of the command."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BadParameter, CommandFailed
from ..format import since_s
from .client import Client

DEFAULT_URL = "http://127.0.0.1:8464"
Url = Annotated[
    str | None, typer.Option("--url", help=f"Web address of the collector; or WALLTIME_URL. [{DEFAULT_URL}]")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", help="File of the token; or WALLTIME_TOKEN_FILE. WALLTIME_TOKEN is the token itself."),
]
ClientCertificate = Annotated[
    Path | None,
    typer.Option(
        "--client-certificate", help="PEM file of the certificate and key for TLS; or WALLTIME_CLIENT_CERTIFICATE."
    ),
]


Since = Annotated[str, typer.Option(help="How much time to look at: 90s, 15m, 2h, 7d.")]


def _declared(
    url: Url = None, as_json: Json = False, token_file: TokenFile = None, client_certificate: ClientCertificate = None
) -> None: ...


_given: dict[str, str] = {}
"""Of the command that runs: parameters that are on its command line → how their option is written."""


def with_global_options(command: Callable[..., None]) -> Callable[..., None]:
    """
    Add the global options to a command, which receives `client` and `as_json` in their place.

    An option after the command wins over one before it, and that over the environment.
    """
    options = inspect.signature(_declared, eval_str=True).parameters
    signature = inspect.signature(command, eval_str=True)
    own = [each for name, each in signature.parameters.items() if name not in ("client", "as_json")]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

    @wraps(command)
    def run(context: typer.Context, **params: Any) -> None:
        _given.clear()
        _given.update(
            (each.name or "", max(each.opts, key=len))
            for each in context.command.params
            if (source := context.get_parameter_source(each.name or "")) and source.name == "COMMANDLINE"
        )
        given = {name: params.pop(name) or (context.obj or {}).get(name) for name in options}
        as_json = bool(given.pop("as_json"))
        command(client=_client(**given), as_json=as_json, **params)

    run.__signature__ = signature.replace(  # type: ignore[attr-defined]  # typer reads the options from it
        parameters=[context, *own, *options.values()]
    )
    return run


def is_given(name: str) -> bool:
    """Whether a parameter is on the command line."""
    return name in _given


def refuse_beside(option: str, *unused: str) -> None:
    """Refuse parameters that are on the command line and that mean nothing beside another option or argument."""
    for name in unused:
        if name in _given:
            raise typer.BadParameter(f"it has no effect beside {option}; leave out one", param_hint=_given[name])


def refuse_without(option: str, *unused: str) -> None:
    """The same for those that mean nothing without another option."""
    for name in unused:
        if name in _given:
            raise typer.BadParameter(f"it has no effect without {option}", param_hint=_given[name])


def check_since(since: str, option: str = "--since") -> None:
    """Refuse an option that is no length of time."""
    try:
        since_s(since)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


@contextmanager
def checked_options() -> Iterator[None]:
    """Refuse the option that a BadParameter inside the block is about."""
    try:
        yield
    except BadParameter as error:
        option = f"--{error.where.replace('_', '-')}"
        raise typer.BadParameter(f"{error.what}; {error.what_now}", param_hint=option) from error


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
        raise typer.BadParameter(str(error), param_hint="--url") from error


def _path(variable: str) -> Path | None:
    return Path(os.environ[variable]) if os.environ.get(variable) else None
