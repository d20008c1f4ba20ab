"""The output of `walltime show`: one transaction, its bill, and the other transactions of its trace."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..errors import CommandFailed
from ..format import count, duration, milliseconds, plural, printable, share
from ..query.answers import Bill, Trace
from ..query.components import FAMILIES, family
from ..query.names import shown
from ..query.sampling import by_line
from ..query.transaction import wording
from ..query.transaction.lock_words import lock_lines
from .drawing.after_response import after_the_response
from .drawing.bars import COLOURS, LETTERS, by_family, is_coloured, legend, span, stacked
from .drawing.statements import remarks, statements
from .drawing.waterfall import calls, tree


def chosen(trace: Trace, span_id: str) -> Bill:
    """
    The transaction that --span means.

    Raises:
        CommandFailed: The trace has none or several.
    """
    try:
        return wording.choose(trace, span_id)
    except LookupError as error:
        raise CommandFailed(error.args[0]) from error


def render(trace: Trace, bill: Bill, console: Console, most_calls: int) -> RenderableType:
    """Return what the terminal shows."""
    in_colour, width = is_coloured(console), console.width
    sections: list[RenderableType] = [_header(trace, bill), Text(), _bill(bill, width, in_colour), _beside(bill)]
    if bill.samples:
        sections += [_title("sampled lines"), Padding(_lines(bill), (0, 0, 0, 2))]
    if bill.targets:
        sections += [_title("by server"), Padding(_targets(bill), (0, 0, 0, 2))]
    if bill.statements or bill.logged:
        sections += [_title("statements"), Padding(statements(bill), (0, 0, 0, 2))]
    if bill.lock_waits:
        sections += [_title("locks"), Padding(_locks(bill), (0, 0, 0, 2))]
    if bill.after_response is not None:
        sections += [
            _title("after the response"),
            Padding(after_the_response(bill.after_response), (0, 0, 0, 2)),
        ]
    sections += [_title("calls in time order"), Padding(_calls(bill, console, most_calls), (0, 0, 0, 2))]
    if own := wording.own_attributes(bill):
        sections += [_title("attributes"), Padding(_grid(own.items()), (0, 0, 0, 2))]
    if len(trace.transactions) > 1:
        sections += [
            _title("transactions of this trace"),
            Padding(tree(trace, bill, width - 2, in_colour=in_colour), (0, 0, 0, 2)),
        ]
        sections.append(Text(f"  the bill of another one: walltime show {trace.trace_id} --span SPAN", "dim"))
    if not trace.is_complete:
        sections.append(Text("This trace is too large: some transactions or calls are not shown.", "yellow"))
    return Group(*sections)


def _header(trace: Trace, bill: Bill) -> Group:
    first = Text(shown(bill.name), "bold", overflow="fold")
    first.append(f"  {printable(bill.service)}", "not bold")
    first.append(f"   {duration(bill.duration_ns)}", "bold")
    if bill.http_status:
        first.append(f"   {bill.http_status}", "bold red" if bill.is_error else "green")
    if bill.is_error:
        first.append(f"   failed{': ' + printable(bill.error_type) if bill.error_type else ''}", "bold red")
    where = "   ".join([wording.when(bill), *wording.where(bill)])
    ids = f"trace {trace.trace_id}   span {bill.span_id}   {wording.why_kept(bill)}"
    return Group(first, Text(where, "dim", overflow="fold"), Text(ids, "dim", overflow="fold"))


def _title(words: str) -> Text:
    return Text(f"\n{words}", "bold")


def _bill(bill: Bill, width: int, in_colour: bool) -> Group:
    """The components, `other` and overlap, in one unit: they add up to the duration."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("component", overflow="fold", min_width=12)
    for heading in ("calls", "ms", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    bar_width = min(max((width - 74) // 2, 0), 40)
    if bar_width >= 8:
        table.add_column("", width=bar_width, no_wrap=True)
    table.add_column("longest", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for each in wording.bill_rows(bill):
        style = COLOURS[each.family] if each.family else "dim"
        row = [
            Text(printable(each.name), style),
            Text(count(each.component.calls) if each.component else ""),
            Text(milliseconds(each.time_ns)),
            Text(share(each.share) if each.share >= 0 else f"−{share(-each.share)}"),
        ]
        if bar_width >= 8:
            letter = LETTERS[family(each.name)]
            is_part = each.share > 0
            row.append(span(style, letter, 0, each.share, bar_width, in_colour=in_colour) if is_part else Text())
        longest = Text(duration(each.component.max_ns) if each.component else "")
        table.add_row(*row, longest, remarks(each.notes))
    rule = ("─" if in_colour else "-") * len(milliseconds(bill.duration_ns))
    table.add_row("", "", Text(rule, "dim"))
    total = [Text("total", "bold"), Text(""), Text(milliseconds(bill.duration_ns), "bold"), Text("100 %", "bold")]
    table.add_row(*total, *([Text()] if bar_width >= 8 else []), Text(), Text())
    sizes = by_family(
        {component.name: float(component.time_ns) for component in bill.components} | {"other": float(bill.other_ns)}
    )
    rounding = wording.rounding(bill)
    return Group(
        stacked(sizes, min(width, 120), in_colour=in_colour),
        legend([name for name in FAMILIES if name in sizes], in_colour=in_colour),
        Text(),
        table,
        *([Text(rounding, "dim")] if rounding else []),
    )


def _beside(bill: Bill) -> Group:
    rows = wording.beside(bill)
    return Group(Text(), _grid(rows)) if rows else Group()


def _grid(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, words in rows:
        table.add_row(Text(printable(name), "dim"), Text(printable(words), overflow="fold"))
    return table


def _targets(bill: Bill) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_header=False)
    for justify in ("left", "left", "right", "right", "left"):
        table.add_column(justify=justify, overflow="fold")
    for target in wording.targets(bill):
        table.add_row(
            Text(printable(target.component), COLOURS[family(target.component)]),
            Text(printable(target.address)),
            Text(plural(target.calls, "call")),
            Text(duration(target.time_ns)),
            remarks(wording.target_notes(target)),
        )
    return table


def _locks(bill: Bill) -> Group:
    lines = lock_lines(bill)
    more = [Text(f"walltime show {each.trace_id}", "dim") for each in lines[:1] if each.trace_id]
    return Group(*(Text(each.text, overflow="fold") for each in lines), *more)


def _lines(bill: Bill) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for each in by_line(bill.samples):
        style = COLOURS[family(each.component)]
        estimate = Text(each.estimate, no_wrap=True)
        table.add_row(
            Text(printable(each.component), style),
            Text(each.where, overflow="fold"),
            estimate,
            Text(each.what, overflow="fold"),
        )
    return table


def _calls(bill: Bill, console: Console, most: int) -> RenderableType:
    if bill.calls:
        in_colour = is_coloured(console)
        return calls(bill, console.width - 2, most, in_colour=in_colour, is_piped=not console.is_terminal)
    return Text(wording.why_no_calls(bill), "dim")
