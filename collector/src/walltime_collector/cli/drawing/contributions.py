"""The parts of a difference as `walltime why` shows them: bars of more and slower calls, servers, statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...format import duration, plural, printable
from ...query.components import family
from ...query.why import wording
from ...query.why.answer import Contribution, Why
from ...query.why.wording import short, signed
from .bars import COLOURS

WIDE = 112
"""From this width on a contribution is one row of a table; below, a block of lines."""
_MOST_STATEMENTS = 6
_SHORTEST_NAME = 24
"""Width of a long name; the rest is on the lines below."""
_SHORTEST_BAR, _LONGEST_BAR = 12, 48
_MORE, _SLOWER = ("█", "▒"), ("m", "s")


@dataclass(frozen=True)
class Layout:
    """Width, colour, and the names of the two populations."""

    width: int
    in_colour: bool
    usual: str
    slow: str
    is_piped: bool = False
    """In a pipe words are not broken."""

    @property
    def is_wide(self) -> bool:
        """Whether a contribution is one row."""
        return self.width >= WIDE

    @property
    def fills(self) -> tuple[str, str]:
        """The characters for more calls and for slower calls: two shades, or two letters."""
        return _MORE if self.in_colour else _SLOWER


def contributions(shown: list[Contribution], rest: list[Contribution], why: Why, layout: Layout) -> RenderableType:
    """The parts of the difference, each with a bar."""
    body = _table(shown, rest, why, layout) if layout.is_wide else _blocks(shown, rest, why, layout)
    return Padding(Group(body, _legend(layout)), (0, 0, 0, 2))


def _table(shown: list[Contribution], rest: list[Contribution], why: Why, layout: Layout) -> RenderableType:
    """One row per part; the bars use the width that the numbers leave."""
    rows = [
        [
            _name(each.component),
            Text(signed(each.difference_ns), "bold"),
            Text(_part(each.more_ns, each.difference_ns)),
            Text(_part(each.slower_ns, each.difference_ns)),
            Text(wording.calls(each)),
            Text(wording.per_call(each)),
            Text(wording.per_transaction(each)),
        ]
        for each in shown
    ]
    if rest:
        words = plural(len(rest), "smaller part")
        rows.append([Text(words, "dim"), Text(signed(sum(each.difference_ns for each in rest)), "dim"), *_blank(5)])
    total = f"{duration(why.usual.mean_ns)} → {duration(why.slow.mean_ns)}"
    rows.append([Text("all", "bold"), Text(signed(why.difference_ns), "bold"), *_blank(4), Text(total, "bold")])
    headings = ("", "difference", "more calls", "slower calls", "calls", "per call", "per transaction")
    widths = [max(len(heading), *(row[at].cell_len for row in rows)) for at, heading in enumerate(headings)]
    room = layout.width - 2 - sum(widths[1:]) - 2 * len(widths)
    widths[0] = min(widths[0], max(room - _SHORTEST_BAR, _SHORTEST_NAME))
    bar_width = max(min(room - widths[0], _LONGEST_BAR), 4)
    scale = _scale(shown)
    bars = [_bar(each, scale, bar_width, layout) for each in shown] + _blank(len(rows) - len(shown))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(headings[0], width=widths[0], overflow="fold")
    table.add_column(headings[1], width=widths[1], no_wrap=True, justify="right")
    table.add_column("", width=bar_width, no_wrap=True)
    for heading, width in zip(headings[2:], widths[2:], strict=True):
        table.add_column(heading, width=width, no_wrap=True, justify="right")
    for row, bar in zip(rows, bars, strict=True):
        table.add_row(*row[:2], bar, *row[2:])
    return table


def _blank(cells: int) -> list[Text]:
    return [Text()] * cells


def _blocks(shown: list[Contribution], rest: list[Contribution], why: Why, layout: Layout) -> RenderableType:
    width = layout.width - 4
    scale = _scale(shown)
    lines: list[RenderableType] = []
    for each in shown:
        head = _name(each.component).append(f"  {signed(each.difference_ns)}", "bold")
        numbers = [f"{wording.per_transaction(each)} per transaction"]
        if each.usual.calls or each.slow.calls:
            numbers += [_counted(each), f"{wording.per_call(each)} each"]
        words = Text("   ".join(numbers), "dim", overflow="fold")
        lines += [head, Padding(Group(_bar(each, scale, width, layout), words), (0, 0, 0, 2))]
    if rest:
        difference = signed(sum(each.difference_ns for each in rest))
        lines.append(Text(f"{plural(len(rest), 'smaller part')}  {difference}", "dim"))
    lines.append(Text(f"all  {signed(why.difference_ns)}", "bold"))
    return Group(*lines)


def _scale(shown: Sequence[Contribution]) -> tuple[float, float]:
    """The maximum of the bars below and above zero, in nanoseconds."""
    parts = [(each.more_ns, each.slower_ns) for each in shown]
    return (
        max((sum(-size for size in pair if size < 0) for pair in parts), default=0.0),
        max((sum(size for size in pair if size > 0) for pair in parts), default=0.0),
    )


def _bar(each: Contribution, scale: tuple[float, float], width: int, layout: Layout) -> Text:
    """More calls, then slower calls; negative parts are on the left of zero, all on one scale."""
    below, above = scale
    if below < 0.01 * above:
        below = 0.0
    whole = below + above
    if whole <= 0:
        return Text(" " * width)
    zero = round(width * below / whole)
    colour = COLOURS[family(each.component)]
    left, right = Text(), Text()
    for size, fill in zip((each.more_ns, each.slower_ns), layout.fills, strict=True):
        cells = round(abs(size) / whole * width)
        if size < 0:
            left = Text(fill * cells, colour) + left
        else:
            right.append(fill * cells, colour)
    if not left and not right and each.difference_ns > 0 and zero < width:
        right.append("▏" if layout.in_colour else ".", colour)
    left.truncate(zero)
    bar = Text(" " * (zero - left.cell_len)) + left + right
    bar.truncate(width, pad=True)
    return bar


def _legend(layout: Layout) -> Text:
    more, slower = layout.fills
    line = Text().append(more * 2, COLOURS["mysql"] if layout.in_colour else "")
    line.append(" more calls, at the usual time each   ", "dim")
    line.append(slower * 2, COLOURS["mysql"] if layout.in_colour else "")
    return line.append(" slower calls", "dim")


def by_server(targets: Sequence[Contribution], layout: Layout) -> RenderableType:
    """The components on each server: calls and time before and now, and hit ratios."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "left", "right", "right", "right", "left") if layout.is_wide else ():
        table.add_column(justify=justify, overflow="fold")
    for each in targets:
        where = (_name(each.component), Text(printable(each.address)))
        numbers = (Text(signed(each.difference_ns)), Text(_counted(each)), Text(f"{wording.per_call(each)} each"))
        _row(table, where, (*numbers, _notes(each)), layout)
    return Padding(table, (0, 0, 0, 2))


def _row(table: Table, first: Sequence[Text], then: Sequence[Text], layout: Layout) -> None:
    """One row if it fits; else two lines, the second one indented."""
    if layout.is_wide:
        return table.add_row(*first, *then)
    line, under = Text("  ").join(first), Text("   ").join(text for text in then if text)
    return table.add_row(Group(line, Padding(under, (0, 0, 0, 2))))


def _notes(each: Contribution) -> Text:
    notes = Text()
    if hits := wording.hits(each):
        notes.append(f"{hits} hit   ")
    if failures := wording.failures(each):
        notes.append(f"{failures} failed", "red")
    return notes


def by_statement(statements: Sequence[Contribution], layout: Layout) -> RenderableType:
    """The statements with the largest differences; --json has all."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("right", "right", "right", "left") if layout.is_wide else ():
        table.add_column(justify=justify, overflow="fold")
    for each in statements[:_MOST_STATEMENTS]:
        text = Text(printable(short(each.statement)), overflow="fold")
        numbers = [Text(signed(each.difference_ns)), Text(_counted(each)), Text(f"{wording.per_call(each)} each")]
        if layout.is_wide:
            table.add_row(*numbers, text)
        else:
            _row(table, (text,), numbers, layout)
    more = len(statements) - _MOST_STATEMENTS
    left = [Text(f"{plural(more, 'more statement')}: --json", "dim")] if more > 0 else []
    return Padding(Group(table, *left), (0, 0, 0, 2))


def _name(component: str) -> Text:
    return Text(printable(component), COLOURS[family(component)])


def _part(ns: float, difference_ns: float) -> str:
    return "" if abs(ns) < 0.005 * abs(difference_ns) else signed(ns)


def _counted(each: Contribution) -> str:
    calls = wording.calls(each)
    return f"{calls} {'call' if calls == '1' else 'calls'}"
