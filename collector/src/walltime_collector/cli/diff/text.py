"""The output of `walltime diff`: the kinds that changed, and the components with the largest parts of each change."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...format import duration, plural, printable, share, time_span
from ...query.components import family
from ...query.diff import wording
from ...query.diff.answer import Diff, KindDifference, Numbers, StatementDifference
from ...query.digest.short import shortened
from ...query.names import shown
from ...query.why.answer import Contribution
from ...query.why.wording import signed
from ..drawing.bars import COLOURS

_STYLES = {"slower": "red", "faster": "green"}


def render(answer: Diff, console: Console, limit: int) -> RenderableType:
    """Return what the terminal shows."""
    changed, one_sided = wording.changed(answer), wording.one_sided(answer)
    parts: list[RenderableType] = [_sides(answer)]
    for each in changed[:limit]:
        parts += [Text(), _head(each), Padding(_body(each), (0, 0, 0, 2))]
    if not changed:
        nothing = "No kind changed beyond chance." if answer.tested else "Nothing could be compared."
        parts += [Text(), Text(nothing, "bold")]
    if one_sided:
        parts += [Text(), _table(one_sided[: max(limit - len(changed), 1)])]
    for statement in answer.statements[:limit]:
        parts += [Text(), _statement(statement)]
    hidden = answer.left_out + max(len(changed) - limit, 0)
    hidden += max(len(one_sided) - max(limit - len(changed), 1), 0)
    rest = wording.rest(answer) + ([f"{plural(hidden, 'kind')} not shown: --limit."] if hidden else [])
    parts += [Text(), *(Text(line, "dim", overflow="fold") for line in rest)]
    return Group(*parts)


def _sides(answer: Diff) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, side in (("now", answer.now), ("usual", answer.usual)):
        what = " ".join(filter(None, (side.version and f"version {side.version}", side.where)))
        sample = f", read one in about {side.one_in}" if side.one_in > 1 else ""
        counts = f"{plural(side.transactions, 'transaction')}{sample}, {duration(side.total_ns)}"
        span = time_span(side.since, side.until)
        table.add_row(Text(name, "bold"), Text(span), Text(printable(what)), Text(counts))
    return table


def _head(each: KindDifference) -> Text:
    words = wording.change(each)
    line = Text(f"{words:<13}", f"bold {_STYLES.get(words, 'yellow')}", overflow="fold")
    line.append(shown(each.name), "not dim bold default").append(f"  {printable(each.service)}", "default not bold")
    if each.change in _STYLES and each.usual and each.now:
        line.append(f"   {duration(each.usual.mean_ns)} → {duration(each.now.mean_ns)}", "default not bold")
        line.append(f"  {wording.relative(each)}", f"bold {_STYLES[each.change]}")
        line.append(f"   {signed(each.total_difference_ns)} in all", "default not bold")
    return line


def _body(each: KindDifference) -> RenderableType:
    lines: list[RenderableType] = []
    if each.change in _STYLES:
        lines += [_component(part) for part in wording.components(each)]
        if each.low_ns is not None and each.high_ns is not None:
            lines.append(Text(f"95 % sure: between {signed(each.low_ns)} and {signed(each.high_ns)}", "dim"))
    if singles := wording.singles(each):
        lines.append(Text(singles, "yellow", overflow="fold"))
    if each.failed and each.usual and each.now:
        failed = f"failed: {_failed(each.usual)} → {_failed(each.now)}"
        times = "; the times are of those that did not fail" if each.change in _STYLES else ""
        lines.append(Text(failed + times, "yellow"))
    return Group(*lines)


def _component(part: Contribution) -> Text:
    line = Text(printable(part.component), f"bold {COLOURS[family(part.component)]}", overflow="fold")
    line.append(f"  {signed(part.difference_ns)}", "default")
    return line.append(f"   {wording.calls(part)}", "default not bold")


def _statement(each: StatementDifference) -> Text:
    line = Text(f"{each.change} statement  ", "bold yellow", overflow="fold")
    line.append(printable(shortened(each.fingerprint)), "bold default")
    line.append(f"  {each.fingerprint_id}\n  ", "not bold dim default")
    line.append(f"{wording.sent(each)}; {plural(each.calls, 'call')}, {duration(each.time_ns)}", "not bold default")
    return line.append(f"  {printable(each.service)}", "not bold dim default")


def _failed(numbers: Numbers) -> str:
    return share(numbers.errors / numbers.transactions)


def _table(kinds: Sequence[KindDifference]) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    for each in kinds:
        numbers = each.now or each.usual
        if numbers is not None:
            table.add_row(
                Text(each.change, "bold"),
                Text(shown(each.name), overflow="fold"),
                Text(printable(each.service)),
                Text(plural(numbers.transactions, "transaction")),
                Text(f"mean {duration(numbers.mean_ns)}"),
                Text("perhaps by chance" if wording.is_perhaps_chance(each) else "", "dim"),
            )
    return table
