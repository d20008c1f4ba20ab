"""The rows of an answer of `why` on a terminal: one line each where it is wide, a block each where it is not."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from ...format import printable
from ...query.components import family
from ...query.why.rows import Row, Table
from .bars import COLOURS, filled

_WIDE = 112
_SHORTEST_NAME = 24
"""Width of a long name; the rest is on the lines below."""
_SHORTEST_BAR, _LONGEST_BAR = 12, 48
_DRAWN = ("more calls", "slower calls")
_LEADING = ("server", "difference", "explains")
_FAULTS = {"hits": "yellow"}
_STYLES = {"mean": "bold", "folded": "dim"}


@dataclass(frozen=True)
class Layout:
    """Width and colour."""

    width: int
    in_colour: bool
    is_piped: bool = False
    """In a pipe words are not broken."""

    @property
    def is_wide(self) -> bool:
        """Whether a row is one line."""
        return self.width >= _WIDE

    @property
    def fills(self) -> tuple[str, str, str]:
        """Of bars: more calls, slower calls, what is neither; shades, or letters."""
        return ("█", "▒", "░") if self.in_colour else ("m", "s", "-")


def parts(table: Table, layout: Layout) -> RenderableType:
    """The parts of the difference between the two means, with bars."""
    more, slower, _ = layout.fills
    colour = COLOURS["mysql"] if layout.in_colour else ""
    legend = Text().append(more * 2, colour).append(" more calls, at the usual time each   ", "dim")
    legend.append(slower * 2, colour).append(" slower calls", "dim")
    return Group(_drawn(table, layout, has_bars=True), legend)


def rows(table: Table, layout: Layout) -> RenderableType:
    """What goes with the parts."""
    note = [Text(table.note, "dim")] if table.note else []
    return Group(_drawn(table, layout), *note)


def _drawn(table: Table, layout: Layout, *, has_bars: bool = False) -> RenderableType:
    return (_wide if layout.is_wide else _narrow)(table, layout, has_bars=has_bars)


def _wide(table: Table, layout: Layout, *, has_bars: bool) -> Grid:
    """Long names and bars use the width that the numbers leave; where it is little, what bars show has no numbers."""
    longest = max(_name(row).cell_len for row in table.rows)
    least = min(longest, _SHORTEST_NAME) + (_SHORTEST_BAR + 2) * has_bars
    widths = {name: max(len(name), *(_cell(row, name).cell_len for row in table.rows)) + 2 for name in table.headings}
    if has_bars and layout.width - 4 - sum(widths.values()) < least:
        widths = {name: width for name, width in widths.items() if name not in _DRAWN}
    room = layout.width - 4 - sum(widths.values())
    name_width = min(longest, max(room - (_SHORTEST_BAR + 2) * has_bars, _SHORTEST_NAME))
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    grid.add_column("", width=name_width, overflow="fold")
    bar_width = max(min(room - 2 - name_width, _LONGEST_BAR), 4)
    for name in widths:
        grid.add_column(name, width=widths[name] - 2, no_wrap=True, justify="left" if name == "server" else "right")
        if has_bars and name == "difference":
            grid.add_column("", width=bar_width, no_wrap=True)
    for row in table.rows:
        cells = [_cell(row, name) for name in widths]
        bar = [_bar(row, table, bar_width, layout)] if has_bars else []
        grid.add_row(_name(row), *cells[:1], *bar, *cells[1:])
    return grid


def _narrow(table: Table, layout: Layout, *, has_bars: bool) -> RenderableType:
    """The name and its part; below it the bar instead of the columns that it shows, and the others with headings."""
    blocks: list[RenderableType] = []
    for row in table.rows:
        head, below, numbers = _name(row), list[RenderableType](), []
        for name in (each for each in table.headings if each in row.cells and each not in _DRAWN):
            is_leading = name in _LEADING or row.about == "mean"
            words = Text().append("" if is_leading else f"{name} ", "dim").append_text(_cell(row, name))
            head = Text("  ").join((head, words)) if is_leading else head
            numbers += [] if is_leading else [words]
        if has_bars and row.about in ("component", "mix", "single"):
            below.append(_bar(row, table, layout.width - 4, layout))
        if numbers:
            below.append(filled(numbers, layout.width - 4, "   "))
        blocks += [head, Padding(Group(*below), (0, 0, 0, 2))]
    return Group(*blocks)


def _name(row: Row) -> Text:
    style = COLOURS[family(row.component)] if row.component else _STYLES.get(row.about, "")
    name = Text(printable(row.label), style, overflow="fold")
    return name.append(f" = {printable(', '.join(row.also))}", "dim") if row.about == "value" and row.also else name


def _cell(row: Row, heading: str) -> Text:
    if heading in row.faults:
        style = _FAULTS.get(heading, "red")
    else:
        style = "bold" if heading in ("difference", "explains") or row.about == "mean" else ""
    return Text(printable(row.cells.get(heading, "")), style)


def _bar(row: Row, table: Table, width: int, layout: Layout) -> Text:
    """More calls, then slower calls; negative parts are on the left of zero, all on one scale."""
    sizes = [_sizes(each) for each in table.rows if not each.is_cut]
    below = max(sum(-size for size in each if size < 0) for each in sizes)
    above = max(sum(size for size in each if size > 0) for each in sizes)
    below = below if below >= 0.01 * above else 0.0
    if (whole := below + above) <= 0:
        return Text()
    zero = round(width * below / whole)
    colour = COLOURS[family(row.component)] if row.component else "dim"
    left, right = Text(), Text()
    for size, fill in zip(_sizes(row), layout.fills, strict=True):
        cells = min(round(abs(size) / whole * width), width)
        if size < 0:
            left = Text(fill * cells, colour) + left
        else:
            right.append(fill * cells, colour)
    if not left and not right and sum(_sizes(row)) > 0 and zero < width:
        right.append("▏" if layout.in_colour else ".", colour)
    left.truncate(zero)
    bar = Text(" " * (zero - left.cell_len)) + left + right
    if row.is_cut:
        mark = Text("»" if layout.in_colour else ">", "bold")
        bar = bar[: width - 1] + mark if row.difference_ns > 0 else mark + bar[1:]
    bar.truncate(width, pad=True)
    return bar


def _sizes(row: Row) -> tuple[float, float, float]:
    """More calls, slower calls, and what is neither; a mean is no part."""
    if row.more_ns is None or row.slower_ns is None:
        return 0.0, 0.0, 0.0 if row.about == "mean" else row.difference_ns
    return row.more_ns, row.slower_ns, 0.0
