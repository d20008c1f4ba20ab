"""Output of the commands: JSON, rendered text for a terminal or a pipe, and the version."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import CommandFailed
from ..format import plural

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from .drawing.page import Page

T = TypeVar("T")
PIPED_WIDTH = 120
"""Columns in a pipe: the output must not depend on the size of the window."""

MOST_ROWS = 1_000
"""Of --limit."""

HOW_TO_BEGIN = (
    "Is the application instrumented (walltime-run), and does it send to this collector? A script opens its "
    'transactions itself, `with walltime.transaction("name"):`; calls outside of a transaction are on no bill. '
    "`walltime doctor` looks for problems."
)
"""Shown where no transaction is stored."""


def read_as(answer: type[T], document: Any) -> T:
    """
    Parse a document of the collector.

    Raises:
        CommandFailed: The collector has another version and its document lacks a field.
    """
    from ..conversion import from_json

    try:
        return from_json(answer, document)
    except ValueError as error:
        raise CommandFailed(
            f"the collector has another version than this command ({error}); use one version for both"
        ) from error


def print_json(document: Any) -> None:
    """Print one JSON document."""
    write(json.dumps(document, indent=2) + "\n")


def print_rendered(render: Callable[[Console], RenderableType], page: str = "") -> None:
    """
    Render for the terminal, or for a pipe without blanks at the ends of lines.

    Args:
        page: The address of the page that shows the same; printed on a terminal only.
    """
    from rich.console import Console
    from rich.text import Text

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    console = Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)
    rendered = render(console)
    if console.is_terminal:
        console.print(rendered, crop=False)
        if page and sys.stdout.isatty():
            console.print(Text(f"\n{page}", "dim"), soft_wrap=True)  # on one line, which can be clicked and copied
        return None
    with console.capture() as capture:
        console.print(rendered, crop=False)  # a name that is longer than a line stays whole
    return write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def print_page(page: Page, address: str = "") -> None:
    """The same, of a page; for a pipe that wants no colours, rich is not imported."""
    if sys.stdout.isatty() or os.environ.keys() & {"FORCE_COLOR", "TTY_COMPATIBLE"}:
        return print_rendered(lambda _: page, address)
    columns = os.environ.get("COLUMNS", "")
    lines = page.plain(int(columns) if columns.isdigit() else PIPED_WIDTH)
    return write("".join([f"{line.rstrip()}\n" for line in lines]))


def left_out(number: int, what: str, shown: int) -> str:
    """`12 more kinds: --limit 32`, or with the largest limit when that is not enough."""
    return f"{plural(number, f'more {what}') if what else f'{number} more'}: --limit {min(shown + number, MOST_ROWS)}"


def write(text: str) -> None:
    """Write to stdout; a reader that closed its end of the pipe, like `head`, is no error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
