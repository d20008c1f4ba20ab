"""The output of `walltime advise`: what to change, with its price."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from ...format import count, duration, plural, printable
from ...query.advise.answer import Advice, Advised
from ...query.names import shown
from ..output import left_out


def render(answer: Advised, console: Console) -> RenderableType:
    """Return what the terminal shows."""
    title = Text("Advice", "bold")
    about = " ".join(printable(each) for each in (answer.kind and shown(answer.kind), answer.service) if each)
    title.append(f"{f' about {about}' if about else ''}   {plural(answer.transactions, 'transaction')}", "not bold")
    if answer.one_in > 1:
        title.append(f", read one in about {answer.one_in}", "not bold")
    lines: list[RenderableType] = [title]
    if not answer.advice:
        nothing = "Nothing to change" if answer.transactions else "No transaction is stored for this time"
        lines.append(Text(f"{nothing}. An advice needs {answer.thresholds['all']}. --since looks further back."))
    for each in answer.advice:
        lines += [Text(), *_advice(each, answer)]
    if answer.left_out:
        lines += [Text(), Text(f"up to {left_out(answer.left_out, '', len(answer.advice))}", "dim")]
    if answer.hidden:
        lines += [Text(), Text(f"{answer.hidden} dismissed: walltime advise --dismissed", "dim")]
    return Group(*lines)


def _advice(advice: Advice, answer: Advised) -> list[RenderableType]:
    price = advice.price
    saves = Text("saves ").append(f"{duration(price.per_hour_ns)} an hour", "bold")
    saves.append(f"; {duration(price.p50_ns)} at p50, {duration(price.p95_ns)} at p95, {duration(price.mean_ns)}")
    saves.append(f" ± {duration(price.uncertainty_ns)} on average" if price.uncertainty_ns else " on average")
    saves.append(f" of {shown(advice.name)} {printable(advice.service)}")
    if price.helped < price.transactions:
        of = plural(price.transactions, "transaction")
        saves.append(f"; {duration(price.helped_ns)} each in {count(price.helped)} of {of}")
    if price.transactions < price.of:
        saves.append(f" (from {count(price.transactions)} of {plural(price.of, 'transaction')})", "dim")
    if others := [shown(each.name) for each in advice.affected[1:4]]:
        saves.append(f"; also {', '.join(others)}")
        saves.append(f" and {len(advice.affected) - 4} more" if len(advice.affected) > 4 else "")
    more = [
        Text(printable(advice.finding)),
        saves,
        *([Text(printable(advice.certainty), "dim")] if advice.certainty else []),
        Text(f"{advice.category}: {answer.thresholds[advice.category]}", "dim"),
        *(Text(f"walltime show {trace}", "dim") for trace in advice.evidence[:2]),
    ]
    if advice.dismissed:
        why = f": {printable(advice.dismissed.why)}" if advice.dismissed.why else ""
        more.append(Text(f"dismissed until {advice.dismissed.until[:19]}Z{why}", "yellow"))
    head = Text(f"{advice.id}  ", "dim").append(printable(advice.change), "not dim bold")
    if "`walltime " in advice.change:
        head.no_wrap, head.overflow = True, "ignore"  # a command to copy
    return [head, Padding(Group(*more), (0, 0, 0, 2))]
