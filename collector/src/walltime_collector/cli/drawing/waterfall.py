"""Draws time lines: the calls of one transaction, the transactions of one trace."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...format import duration, plural, printable, share
from ...query.answers import Bill, Call, Trace
from ...query.components import family
from ...query.names import shown as shown_name
from ...query.transaction import wording
from .bars import COLOURS, LETTERS, by_family, span

_ROOMY = 90
"""Below this width the time line is shorter, for the words."""


def calls(bill: Bill, width: int, most: int, *, in_colour: bool, is_piped: bool = False) -> RenderableType:
    """
    The first `most` calls of a transaction on its time line.

    On a terminal a call is one line, truncated; in a pipe nothing is truncated.
    """
    track = min(max(width // 3 if width >= _ROOMY else width // 5, 10), 48)
    table = _lines(track, duration(bill.duration_ns), is_cut=not is_piped)
    whole_ns = max(bill.duration_ns, 1)
    for call in bill.calls[:most]:
        component_family = family(call.component) if call.component else "other"
        at, long = call.offset_ns / whole_ns, call.duration_ns / whole_ns
        table.add_row(
            Text(duration(call.offset_ns)),
            span(COLOURS[component_family], LETTERS[component_family], at, long, track, in_colour=in_colour),
            Text(duration(call.duration_ns)),
            _what(call, component_family),
        )
    left = []
    if len(bill.calls) > most:
        left.append(f"{plural(len(bill.calls) - most, 'later call')} not shown: --calls {len(bill.calls)}")
    if dropped := wording.calls_dropped(bill):
        left.append(dropped)
    return Group(table, *(Text(line, "dim") for line in left))


def tree(trace: Trace, shown: Bill, width: int, *, in_colour: bool) -> Table:
    """All transactions of the trace on its time line, callers above callees."""
    track = min(max(width // 4 if width >= _ROOMY else width // 5, 10), 36)
    whole_ns = max(bill.offset_ns + bill.duration_ns for bill in trace.transactions) or 1
    table = _lines(track, duration(whole_ns), is_cut=False)
    for bill in trace.transactions:
        sizes = by_family(
            {each.name: float(each.time_ns) for each in bill.components} | {"other": float(bill.other_ns)}
        )
        largest = max(sizes, key=lambda name: sizes[name], default="other")
        name = Text().append("  " * min(bill.depth, 12) + ("└ " if bill.depth and in_colour else ""), "dim")
        name.append(shown_name(bill.name), "bold" if bill is shown else "")
        name.append(f"  {printable(bill.service)}", "not bold dim")
        name.append("  ◂ this bill" if bill is shown else f"  {bill.span_id}", "not bold dim")
        name.append("  failed", "bold red") if bill.is_error else None
        name.append(
            f"  mostly {largest} {share(sizes[largest] / sum(sizes.values()))}", COLOURS[largest]
        ) if sizes else None
        at, long = bill.offset_ns / whole_ns, bill.duration_ns / whole_ns
        bar = span(COLOURS[largest], LETTERS[largest], at, long, track, in_colour=in_colour)
        table.add_row(Text(duration(bill.offset_ns)), bar, Text(duration(bill.duration_ns)), name)
    return table


def _lines(track: int, whole: str, *, is_cut: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    table.add_column("at", justify="right", no_wrap=True)
    table.add_column(Text("0" + whole.rjust(track - 1)), width=track, no_wrap=True)
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("", ratio=1, no_wrap=is_cut, overflow="ellipsis" if is_cut else "fold")
    return table


def _what(call: Call, component_family: str) -> Text:
    words = Text().append(printable(call.component or call.name), COLOURS[component_family])
    if call.error:
        words.append(f"  {printable(call.error)}", "bold red")
    if call.result and call.result != call.error:
        words.append(f"  {printable(call.result)}", "yellow" if call.result == "miss" else "")
    if call.server:
        words.append(f"  server {duration(call.server.query_ns)}", "dim")
        if (locked_ns := call.server.locked_ns) >= call.duration_ns / 2:
            words.append(f", {duration(locked_ns)} of it a lock", "bold red")
    if call.text:
        words.append(f"  {printable(call.text)}")
    if call.address:
        words.append(f"  {printable(call.address)}", "dim")
    if call.source:
        words.append(f"  {printable(call.source)}", "dim")
    if call.connection_id:
        words.append(f"  connection {call.connection_id}", "dim")
    return words
