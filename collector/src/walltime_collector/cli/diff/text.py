"""The output of `walltime diff`: the kinds that changed, with the components that carry the change."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...format import duration, percent, plural, printable, share
from ...query.components import family
from ...query.diff.answer import Diff, KindDifference, Numbers, Side
from ...query.names import shown
from ...query.why import wording
from ...query.why.answer import Contribution
from ...query.why.chance import FEWEST
from ...query.why.wording import signed
from ..drawing.bars import COLOURS

_MOST_COMPONENTS = 3
_PERHAPS_CHANCE = 0.01
_STYLES = {"slower": "red", "faster": "green"}


def render(answer: Diff, console: Console, limit: int) -> RenderableType:
    """Return what the terminal shows."""
    changed = [each for each in answer.kinds if each.change in _STYLES or each.failed]
    one_sided = [each for each in answer.kinds if each.change in ("new", "gone")]
    parts: list[RenderableType] = [_sides(answer)]
    for each in changed[:limit]:
        parts += [Text(), _head(each), Padding(_body(each), (0, 0, 0, 2))]
    if not changed:
        nothing = "No kind changed beyond chance." if answer.tested else "Nothing could be compared."
        parts += [Text(), Text(nothing, "bold")]
    if one_sided:
        parts += [Text(), _table(one_sided[: max(limit - len(changed), 1)])]
    hidden = answer.left_out + max(len(changed) - limit, 0)
    hidden += max(len(one_sided) - max(limit - len(changed), 1), 0)
    parts += [Text(), *(Text(line, "dim", overflow="fold") for line in _rest(answer, hidden))]
    return Group(*parts)


def _sides(answer: Diff) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, side in (("now", answer.now), ("usual", answer.usual)):
        what = " ".join(filter(None, (side.version and f"version {side.version}", side.where)))
        sample = f", read one in about {side.one_in}" if side.one_in > 1 else ""
        counts = f"{plural(side.transactions, 'transaction')}{sample}, {duration(side.total_ns)}"
        table.add_row(Text(name, "bold"), Text(_span(side)), Text(printable(what)), Text(counts))
    return table


def _span(side: Side) -> str:
    start, end = side.since[:19].replace("T", " "), side.until[:19].replace("T", " ")
    return f"{start} … {end[11:] if end[:10] == start[:10] else end} UTC"


def _head(each: KindDifference) -> Text:
    words = each.change if each.change in _STYLES else f"{each.failed} failed"
    line = Text(f"{words:<13}", f"bold {_STYLES.get(words, 'yellow')}", overflow="fold")
    line.append(shown(each.name), "not dim bold default").append(f"  {printable(each.service)}", "default not bold")
    if each.change in _STYLES and each.usual and each.now:
        line.append(f"   {duration(each.usual.mean_ns)} → {duration(each.now.mean_ns)}", "default not bold")
        sign = "+" if each.relative > 0 else "−"
        line.append(f"  {sign}{percent(abs(each.relative))}", f"bold {_STYLES[each.change]}")
        line.append(f"   {signed(each.total_difference_ns)} in all", "default not bold")
    return line


def _body(each: KindDifference) -> RenderableType:
    lines: list[RenderableType] = []
    if each.change in _STYLES:
        lines += [_component(part) for part in wording.worth_showing(each.components)[0][:_MOST_COMPONENTS]]
        if each.low_ns is not None and each.high_ns is not None:
            lines.append(Text(f"95 % sure: between {signed(each.low_ns)} and {signed(each.high_ns)}", "dim"))
    if each.failed and each.usual and each.now:
        failed = f"failed: {_failed(each.usual)} → {_failed(each.now)}"
        times = "; the times are of those that did not fail" if each.change in _STYLES else ""
        lines.append(Text(failed + times, "yellow"))
    return Group(*lines)


def _component(part: Contribution) -> Text:
    line = Text(printable(part.component), f"bold {COLOURS[family(part.component)]}", overflow="fold")
    line.append(f"  {signed(part.difference_ns)}", "default")
    calls, per_call = wording.calls(part), wording.per_call(part)
    details = ", ".join(filter(None, (calls and f"{calls} calls", per_call and f"{per_call} each")))
    return line.append(f"   {details}", "default not bold")


def _failed(numbers: Numbers) -> str:
    return share(numbers.errors / numbers.transactions)


def _table(kinds: Sequence[KindDifference]) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    for each in kinds:
        numbers = each.now or each.usual
        if numbers is not None:
            by_chance = each.p_value is not None and each.p_value >= _PERHAPS_CHANCE
            table.add_row(
                Text(each.change, "bold"),
                Text(shown(each.name), overflow="fold"),
                Text(printable(each.service)),
                Text(plural(numbers.transactions, "transaction")),
                Text(f"mean {duration(numbers.mean_ns)}"),
                Text("perhaps by chance" if by_chance else "", "dim"),
            )
    return table


def _rest(answer: Diff, hidden: int) -> list[str]:
    def number(change: str) -> int:
        return sum(each.change == change and not each.failed for each in answer.kinds)

    counted = [
        (number("chance"), "no difference beyond chance"),
        (number("small"), "beyond chance, but less than 5 %"),
        (number("too_few"), f"fewer than {FEWEST} transactions on a side, or all of them at one time"),
    ]
    lines = [f"{plural(answer.tested, 'kind')} tested; chances are corrected for so many."]
    lines += [f"{plural(many, 'other kind')}: {what}." for many, what in counted if many]
    if hidden:
        lines.append(f"{plural(hidden, 'kind')} not shown: --limit.")
    return lines
