"""The work of a request after its response, below its bill."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ...format import count, milliseconds, plural, printable
from ...query.after_response import AfterResponse
from ...query.components import family
from ...query.transaction import wording
from .bars import COLOURS


def after_the_response(after: AfterResponse) -> Group:
    """One row per component, in the unit of the bill; none of it is in the duration."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("component", overflow="fold", min_width=12)
    for heading in ("calls", "ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for each in after.components:
        errors = Text(plural(each.errors, "error"), "bold red") if each.errors else Text()
        name = Text(printable(each.component), COLOURS[family(each.component)])
        table.add_row(name, Text(count(each.calls)), Text(milliseconds(each.time_ns)), errors)
    continued, semicolon, ended = wording.after_response(after).partition("; ")
    words = Text(continued, "dim").append(semicolon + ended, "bold red")
    return Group(*([table] if after.components else []), words)
