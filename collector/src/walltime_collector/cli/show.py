"""The output of `walltime show`: one transaction, its bill, and the other transactions of its trace."""

from __future__ import annotations

from datetime import datetime, timezone

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..format import count, duration, milliseconds, percent, plural, printable, ratio, share
from ..query.answers import Bill, Trace
from ..query.components import COUNTERS, FAMILIES, NOTES, Component, family
from ..query.names import shown
from .drawing.after_response import after_the_response
from .drawing.bars import COLOURS, LETTERS, by_family, is_coloured, legend, span, stacked
from .drawing.statements import statements
from .drawing.waterfall import calls, tree

KEPT = {
    "random": "in the fair sample",
    "slow": "slow for its kind",
    "error": "it failed",
    "forced": "asked for by code or header",
    "upstream": "its caller's detail was kept",
}

_IN_HEADER = {"http.request.method", "http.route", "http.response.status_code", "error.type", "user.id", "url.scheme"}


def choose(trace: Trace, span_id: str) -> Bill:
    """
    The transaction whose span id begins with `span_id`; without one, the root of the trace.

    Raises:
        LookupError: The trace has no transaction with this span id, or several.
    """
    if not span_id:
        return trace.transactions[0]
    matches = [bill for bill in trace.transactions if bill.span_id.startswith(span_id)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        spans = ", ".join(bill.span_id for bill in matches[:5])
        raise LookupError(f"trace {trace.trace_id} has {len(matches)} transactions whose span id begins so: {spans}")
    known = ", ".join(bill.span_id for bill in trace.transactions[:5])
    raise LookupError(f"trace {trace.trace_id} has no transaction with span id {span_id}; it has {known}")


def render(trace: Trace, bill: Bill, console: Console, most_calls: int) -> RenderableType:
    """Return what the terminal shows."""
    in_colour, width = is_coloured(console), console.width
    sections: list[RenderableType] = [_header(trace, bill), Text(), _bill(bill, width, in_colour), _beside(bill)]
    if bill.targets:
        sections += [_title("by server"), Padding(_targets(bill), (0, 0, 0, 2))]
    if bill.statements or bill.logged:
        sections += [_title("statements"), Padding(statements(bill), (0, 0, 0, 2))]
    if bill.after_response is not None:
        sections += [
            _title("after the response"),
            Padding(after_the_response(bill.after_response), (0, 0, 0, 2)),
        ]
    sections += [_title("calls in time order"), Padding(_calls(bill, console, most_calls), (0, 0, 0, 2))]
    if bill.attributes and (annotations := _annotations(bill)):
        sections += [_title("attributes"), Padding(annotations, (0, 0, 0, 2))]
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
    parts = {"": bill.host, "version ": bill.version, "in ": bill.environment, "user ": bill.user}
    where = [_when(bill), *(name + printable(part) for name, part in parts.items() if part)]
    if bill.depth == 0 and bill.parent_span_id:
        where.append(f"called by span {bill.parent_span_id} (not stored)")
    return Group(
        first,
        Text("   ".join(where), "dim", overflow="fold"),
        Text(f"trace {trace.trace_id}   span {bill.span_id}   {_why_kept(bill)}", "dim", overflow="fold"),
    )


def _when(bill: Bill) -> str:
    started = datetime.fromisoformat(bill.started_at[:26] + "+00:00")
    ago_s = (datetime.now(timezone.utc) - started).total_seconds()
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if ago_s >= size:
            return f"{bill.started_at[:23].replace('T', ' ')} UTC ({plural(ago_s // size, unit)} ago)"
    return f"{bill.started_at[:23].replace('T', ' ')} UTC"


def _why_kept(bill: Bill) -> str:
    if not bill.kept:
        return "only the bill was kept"
    if bill.kept == "foreign":
        sampled = f", which samples {percent(bill.sample_probability)} of all" if bill.sample_probability < 1 else ""
        return f"computed from the spans of another SDK{sampled}"
    why = KEPT.get(bill.kept, printable(bill.kept))
    return f"every call kept: {why}" + (
        f" ({percent(bill.sample_probability)} of all)" if bill.kept == "random" else ""
    )


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

    def add_row(name: str, calls_: str, time_ns: int, longest: str, notes: Text, style: str) -> None:
        part = time_ns / max(bill.duration_ns, 1)
        row = [
            Text(printable(name), style),
            Text(calls_),
            Text(milliseconds(time_ns)),
            Text(share(part) if part >= 0 else f"−{share(-part)}"),
        ]
        if bar_width >= 8:
            bar = span(style, LETTERS[family(name)], 0, part, bar_width, in_colour=in_colour) if part > 0 else Text()
            row.append(bar)
        table.add_row(*row, Text(longest), notes)

    for component in bill.components:
        colour = COLOURS[family(component.name)]
        add_row(
            component.name,
            count(component.calls),
            component.time_ns,
            duration(component.max_ns),
            _notes(component),
            colour,
        )
    add_row("other", "", bill.other_ns, "", Text("in no measured call", "dim"), COLOURS["other"])
    if bill.overlap_ns > 0:
        add_row(
            "overlap", "", -bill.overlap_ns, "", Text("calls that ran at the same time, counted once", "dim"), "dim"
        )
    elif bill.overlap_ns < 0:
        add_row("not itemized", "", -bill.overlap_ns, "", Text("inside calls, on no line of the bill", "dim"), "dim")
    rule = ("─" if in_colour else "-") * len(milliseconds(bill.duration_ns))
    table.add_row("", "", Text(rule, "dim"))
    total = [Text("total", "bold"), Text(""), Text(milliseconds(bill.duration_ns), "bold"), Text("100 %", "bold")]
    table.add_row(*total, *([Text()] if bar_width >= 8 else []), Text(), Text())
    sizes = by_family(
        {component.name: float(component.time_ns) for component in bill.components} | {"other": float(bill.other_ns)}
    )
    picture = stacked(sizes, min(width, 120), in_colour=in_colour)
    return Group(
        picture,
        legend([name for name in FAMILIES if name in sizes], in_colour=in_colour),
        Text(),
        table,
        *_rounding(bill),
    )


def _rounding(bill: Bill) -> list[Text]:
    parts = [*(component.time_ns for component in bill.components), bill.other_ns, -bill.overlap_ns]
    shown = sum(round(part / 1_000) for part in parts)
    if shown == round(bill.duration_ns / 1_000):
        return []
    return [Text(f"rounded to 1 µs; the parts add up to {bill.duration_ns:,} ns exactly", "dim")]


_STYLES = {"": "", "warning": "yellow", "error": "bold red"}


def _notes(component: Component) -> Text:
    """What the component counted, but for calls and times, in the order of the table of counters."""
    notes = Text()
    for counter in COUNTERS:
        number, note = getattr(component, counter), NOTES.get(counter)
        words, severity = "", ""
        if number and note:
            words, severity = plural(number, note.one, note.many), note.severity
        elif counter == "hits" and (looked_up := component.hits + component.misses):
            words = f"{number} of {plural(looked_up, 'key')} hit ({ratio(number, looked_up)})"
        if words:
            notes.append("   " if notes else "").append(words, _STYLES[severity])
    return notes


def _beside(bill: Bill) -> Group:
    lines = []
    if bill.cpu_user_ns is not None or bill.cpu_system_ns is not None:
        user_ns, system_ns = bill.cpu_user_ns or 0, bill.cpu_system_ns or 0
        part = percent((user_ns + system_ns) / max(bill.duration_ns, 1))
        lines.append(
            (
                "CPU",
                f"{duration(user_ns)} user + {duration(system_ns)} system, {part} of the duration",
            )
        )
    if bill.queue_ns is not None:
        lines.append(("queue", f"{duration(bill.queue_ns)} before it started, not in the duration"))
    if bill.peak_rss_growth_bytes:
        lines.append(("memory", f"peak grew by {count(round(bill.peak_rss_growth_bytes / 1024))} KiB"))
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, words in lines:
        table.add_row(Text(name, "dim"), Text(words))
    return Group(Text(), table) if lines else Group()


def _targets(bill: Bill) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_header=False)
    for justify in ("left", "left", "right", "right", "left"):
        table.add_column(justify=justify, overflow="fold")
    lines = {component.name: at for at, component in enumerate(bill.components)}
    for target in sorted(bill.targets, key=lambda each: (lines.get(each.component, len(lines)), each.address)):
        notes = _notes(Component(target.component, errors=target.errors, hits=target.hits, misses=target.misses))
        table.add_row(
            Text(printable(target.component), COLOURS[family(target.component)]),
            Text(printable(target.address)),
            Text(plural(target.calls, "call")),
            Text(duration(target.time_ns)),
            notes,
        )
    return table


def _calls(bill: Bill, console: Console, most: int) -> RenderableType:
    if bill.calls:
        in_colour = is_coloured(console)
        return calls(bill, console.width - 2, most, in_colour=in_colour, is_piped=not console.is_terminal)
    if not bill.components:
        return Text("There are none.", "dim")
    if bill.kept:
        return Text("They were kept, but are not stored: they have not arrived yet, or their retention is over.", "dim")
    sample = (
        f"the fair sample keeps {percent(bill.sample_probability)} of all transactions, and this one"
        if bill.sample_probability
        else "it"
    )
    return Text(
        f"Not kept one by one: {sample} was neither slow for its kind nor failed nor asked for. The bill is complete.",
        "dim",
    )


def _annotations(bill: Bill) -> Table | None:
    own = {
        key: value
        for key, value in bill.attributes.items()
        if value and key not in _IN_HEADER and (key == "walltime.name" or not key.startswith("walltime."))
    }
    if not own:
        return None
    table = Table.grid(padding=(0, 2, 0, 0))
    for key, value in sorted(own.items()):
        table.add_row(Text(printable(key), "dim"), Text(printable(value), overflow="fold"))
    return table
