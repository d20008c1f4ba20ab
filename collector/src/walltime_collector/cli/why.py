"""The output of `walltime why`: what makes the slow transactions different."""

from __future__ import annotations

import re

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..format import duration, plural, printable, share, time_span
from ..query.components import family
from ..query.names import shown
from ..query.transaction.wording import has_every_call
from ..query.why.answer import Example, Population, Why
from ..query.why.finding import Evidence
from .drawing import rows
from .drawing.bars import COLOURS, is_coloured
from .drawing.rows import Layout

_COMPONENT = re.compile(r"^[\w.()]+(?=: )|(?<=because )[\w.]+")


def render(why: Why, console: Console, *, has_evidence: bool = False) -> RenderableType:
    """
    Return what the terminal shows.

    Args:
        has_evidence: Below each sentence its SQL and its transactions.
    """
    layout = Layout(console.width, is_coloured(console), not console.is_terminal)
    first, *others = why.sentences
    blocks: list[RenderableType] = [_headline(why, layout), Padding(_populations(why, layout), (0, 0, 0, 2))]
    blocks += _evidence(why.evidence(first), layout) if has_evidence else []
    for each in others:
        blocks.append(Padding(_sentence(each), (1, 0, 0, 0)))
        blocks += _evidence(why.evidence(each), layout) if has_evidence else []
    blocks += [_title(why.shown.parts.title), _indented(rows.parts(why.shown.parts, layout)), _beside(why)]
    for table in why.shown.tables:
        blocks += [_title(table.title), _indented(rows.rows(table, layout))]
    return Group(*blocks, _title("examples"), _indented(_examples(why, layout)))


def _headline(why: Why, layout: Layout) -> RenderableType:
    name, sentence = shown(why.name), printable(why.sentences[0])
    rest = sentence.removeprefix(name).removeprefix(":").strip()
    line = Text(name, "bold", overflow="fold").append(f"  {printable(why.service)}", "not bold")
    if layout.is_piped and line.cell_len > layout.width:
        line.no_wrap, line.overflow = True, "ignore"
        return Group(line, Text(rest))
    return line.append(f"   {rest}", "not bold")


def _populations(why: Why, layout: Layout) -> Table:
    rows = []
    for name, side in ((why.shown.slow, why.slow), (why.shown.usual, why.usual)):
        times = f"p50 {duration(side.p50_ns)}, p95 {duration(side.p95_ns)}, p99 {duration(side.p99_ns)}"
        failed = Text(f"{share(side.errors / side.transactions)} failed", "red" if side.errors else "dim")
        if client_errors := _client_errors(why, side):
            failed.append(f"  {share(client_errors / side.transactions)} 4xx", "yellow")
        who = Text(plural(side.transactions, "transaction"))
        rows.append((Text(name, "dim"), Text(time_span(side.since, side.until)), who, Text(times, "dim"), failed))
    needed = 2 + sum(max(cell.cell_len for cell in column) + 2 for column in zip(*rows, strict=True))
    table = Table.grid(padding=(0, 2, 0, 0))
    for name_cell, span, who, took, failed in rows:
        if layout.is_wide and needed <= layout.width + 2:
            table.add_row(name_cell, span, who, took, failed)
        else:
            table.add_row(name_cell, span)
            table.add_row(Text(), Group(who + Text("   ") + failed, took))
    outer = Table.grid()
    outer.add_row(table)
    for line in why.shown.notes:
        outer.add_row(Text(line, "dim", overflow="fold"))
    return outer


def _client_errors(why: Why, side: Population) -> int:
    mine = [each for each in why.statuses if each.value == "4xx"]
    return sum(each.slow_transactions if side is why.slow else each.usual_transactions for each in mine)


def _sentence(text: str) -> Text:
    line = Text(printable(text), overflow="fold")
    for match in _COMPONENT.finditer(line.plain):
        if family(match[0]) != "custom" or match.start() == 0:
            line.stylize(f"bold {COLOURS[family(match[0])]}", match.start(), match.end())
    return line


def _evidence(evidence: Evidence | None, layout: Layout) -> list[RenderableType]:
    """The statement as it is, also where lines are longer than the terminal: it is copied from there."""
    if evidence is None:
        return []
    sql = Text(evidence.sql)
    if layout.in_colour:
        from rich.syntax import Syntax

        sql = Syntax("", "sql", theme="ansi_light", background_color="default").highlight(evidence.sql)
    lines = [Text("    ", no_wrap=True, overflow="ignore") + line for line in sql.split("\n") if line]
    shows = [Text(f"    walltime show {each}", "dim") for each in evidence.traces]
    return [Text(), *lines, *shows]


def _indented(rows: RenderableType) -> RenderableType:
    return Padding(rows, (0, 0, 0, 2))


def _title(words: str) -> Text:
    return Text(f"\n{words}", "bold")


def _beside(why: Why) -> RenderableType:
    """CPU, which is spent inside the parts, and queue time, which is before them."""
    usual, slow = why.usual, why.slow
    table = Table.grid(padding=(0, 2, 0, 0))
    if usual.cpu_ns is not None and slow.cpu_ns is not None:
        table.add_row(Text("CPU", "dim"), Text(f"{duration(usual.cpu_ns)} → {duration(slow.cpu_ns)}"), _of_other(why))
    for name, before_ns, now_ns in (
        ("cpu.wait", usual.cpu_wait_ns, slow.cpu_wait_ns),
        ("loop.run", usual.loop_run_ns, slow.loop_run_ns),
        ("loop.wait", usual.loop_wait_ns, slow.loop_wait_ns),
    ):
        if before_ns is not None and now_ns is not None:
            inside = Text("inside the parts above", "dim")
            table.add_row(Text(name, "dim"), Text(f"{duration(before_ns)} → {duration(now_ns)}"), inside)
    if usual.queue_ns is not None and slow.queue_ns is not None:
        change = f"{duration(usual.queue_ns)} → {duration(slow.queue_ns)}"
        table.add_row(Text("queue", "dim"), Text(change), Text("before it started, not in the time", "dim"))
    return Padding(table, (1, 0, 0, 2)) if table.row_count else Group()


def _of_other(why: Why) -> Text:
    sides = []
    for side in (why.usual, why.slow):
        least_ns, most_ns = side.other_on_cpu_least_ns, side.other_on_cpu_most_ns
        if least_ns is None or most_ns is None:
            return Text("inside the parts above", "dim")
        is_bounded = least_ns >= 0.01 * most_ns
        sides.append(f"{duration(least_ns)} to {duration(most_ns)}" if is_bounded else f"at most {duration(most_ns)}")
    return Text(f"inside the parts above; in `other` {sides[0]} → {sides[1]}", "dim", overflow="fold")


def _examples(why: Why, layout: Layout) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, examples in ((why.shown.slow, why.slow_examples), (why.shown.usual, why.usual_examples)):
        for at, each in enumerate(examples):
            table.add_row(
                Text(name if at == 0 else "", "dim"), Text(duration(each.duration_ns)), _command(each, layout)
            )
    return table


def _command(each: Example, layout: Layout) -> Text:
    command = Text(f"walltime show {each.trace_id}", overflow="fold")
    is_noted = has_every_call(each.kept) and layout.is_wide
    return command.append("   every call kept", "dim") if is_noted else command
