"""The table of `walltime why` by dimension: the hosts, users and other values that explain a part of the difference."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...format import printable
from ...query.why import wording
from ...query.why.answer import Why
from .contributions import Layout


def by_dimension(why: Why, layout: Layout) -> RenderableType:
    """One row for each value; where the terminal is narrow, two lines."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_header=layout.is_wide)
    for heading in ("", "explains", "share", "lift", "mean", "the others") if layout.is_wide else ("",):
        table.add_column(heading, justify="right" if heading else "left", overflow="fold")
    for each in why.dimensions:
        name = Text(printable(wording.label(each)), overflow="fold")
        if each.same:
            name.append(f" = {printable(', '.join(each.same))}", "dim")
        part = Text(wording.signed(each.more_ns + each.slower_ns), "bold")
        share, lift, means, rest = (
            wording.shares(each),
            wording.lift(each),
            wording.means(each),
            wording.rest_means(each),
        )
        if layout.is_wide:
            table.add_row(name, part, share, lift, means, rest)
        else:
            numbers = Text(f"share {share}   lift {lift}   {means}   the others {rest}", "dim", overflow="fold")
            table.add_row(Group(Text("  ").join((name, part)), Padding(numbers, (0, 0, 0, 2))))
    looked = Text(f"beyond chance among {wording.looked_at(why)}", "dim")
    return Padding(Group(table, looked), (0, 0, 0, 2))
