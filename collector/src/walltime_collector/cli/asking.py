"""What the commands share: the options --url and --json, an exchange with the collector, and how they write."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import NotAnswered
from ..query.answers import from_json
from .ask import ask, post

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PIPED_WIDTH = 120
"""Columns when nobody's terminal says otherwise: what is piped must not depend on the window it was typed in."""

HOW_TO_BEGIN = (
    "Is the application instrumented (walltime-run), and does it send to this collector? A script opens its "
    'transactions itself, `with walltime.transaction("name"):`; calls outside of any are on no bill. '
    "`walltime doctor` looks for what is wrong."
)
"""Where there is no transaction: what may be missing."""

Url = Annotated[str, typer.Option("--url", envvar="WALLTIME_URL", help="The collector's web address.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")]
DEFAULT_URL = "http://127.0.0.1:8464"


def asked(url: str, path: str, **parameters: str | int) -> Any:
    """What the collector answers; see `ask`. An address that is none is the option's fault."""
    return exchanged(lambda: ask(url, path, **parameters))


def sent(url: str, path: str, document: Mapping[str, Any]) -> Any:
    """The same for a document that is sent."""
    return exchanged(lambda: post(url, path, document))


def read_as(answer: type[Any], document: Any, url: str) -> Any:
    """The document as an answer of ours; NotAnswered when another version of the collector made it."""
    try:
        return from_json(answer, document)
    except ValueError as error:
        raise NotAnswered(
            f"the collector at {url} is another version than this command ({error}); use one version for both"
        ) from error


def print_json(document: Any) -> None:
    """One document, for programs."""
    write(json.dumps(document, indent=2) + "\n")


def print_version(is_asked: bool) -> None:
    """The answer to --version, whatever else the command line has."""
    if is_asked:
        from importlib.metadata import version

        write(f"walltime {version('walltime-collector')}\n")
        raise typer.Exit


def console() -> Console:
    """Where people read."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    return Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def print_for_people(console: Console, rendered: RenderableType) -> None:
    """To the terminal as it is, into a pipe without blanks at the ends of lines."""
    if console.is_terminal:
        return console.print(rendered)
    with console.capture() as capture:
        console.print(rendered, crop=False)  # a name that is longer than a line stays whole
    return write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def write(text: str) -> None:
    """Text on stdout, whether or not somebody still reads it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # `| head` has what it wanted


def exchanged(exchange: Callable[[], Any]) -> Any:
    """What it returns; an address that is none is the option's fault."""
    try:
        return exchange()
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--url") from error
