"""The output of `walltime incidents`: a list, or one with what changed and its explanation."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...format import age, count, printable, shell_command, time_span, unix_ns
from ...query.incidents import wording
from ...query.incidents.answer import Incident, Incidents
from ...query.names import shown
from ..output import left_out

_COLOURS = {"critical": "bold red", "warning": "yellow"}


def render(answer: Incidents, *, is_open: bool) -> RenderableType:
    """What the terminal shows of several incidents, or of those that are open."""
    if not answer.incidents:
        since = f"since {answer.since[:19].replace('T', ' ')} UTC"
        return Text(f"No incident {'is open' if is_open else since}.")
    now_ns = unix_ns(answer.until)
    blocks: list[RenderableType] = []
    for each in answer.incidents:
        line = Text(each.id, "dim")
        line.append(f"  {wording.state(each)}", _COLOURS[each.severity] if each.is_open else "green")
        line.append(f"  {_times(each, now_ns)}", "dim").append(f"  {printable(each.service)}", "dim")
        blocks.append(Group(line, Padding(Text(printable(each.headline), overflow="fold"), (0, 0, 1, 2))))
    if more := answer.all - len(answer.incidents):
        blocks.append(Text(left_out(more, "incident", len(answer.incidents)), "dim"))
    return Group(Text(f"{wording.several(answer.open)}, {count(answer.all)} in all\n", "bold"), *blocks)


def detail(one: Incident) -> RenderableType:
    """What the terminal shows of one incident."""
    title = Text(shown(one.name), "bold").append(f"  {printable(one.service)}", "not bold")
    title.append(f"   {wording.state(one)}", _COLOURS[one.severity] if one.is_open else "green")
    changes = Table.grid(padding=(0, 2, 0, 0))
    for each in one.changes:
        before, now = wording.numbers(each)
        changes.add_row(
            Text(wording.what(each)), Text(f"{before} → {now}"), Text(f"worst {wording.worst(each)}", "dim")
        )
    during, against = (f"{start[:19]}Z..{end[:19]}Z" for start, end in _windows(one))
    ask = shell_command("walltime why", one.name, service=one.service, during=during, against=against)
    return Group(
        title,
        Text(_times(one, unix_ns(one.ended_at)), "dim"),
        *(Padding(Text(printable(each), overflow="fold"), (1, 0, 0, 0)) for each in one.sentences),
        Text(wording.as_of(one), "dim"),
        Text("\nwhat changed", "bold"),
        Padding(changes, (0, 0, 0, 2)),
        Text("\nmore", "bold"),
        Text(f"  {ask}", no_wrap=True, overflow="ignore"),
    )


def _times(each: Incident, now_ns: int) -> str:
    if each.is_open:
        start = each.started_at[:19].replace("T", " ")
        return f"since {start} UTC, {age((now_ns - unix_ns(each.started_at)) / 1e9)}"
    lasted = age((unix_ns(each.ended_at) - unix_ns(each.started_at)) / 1e9)
    return f"{time_span(each.started_at, each.ended_at)}, {lasted}"


def _windows(one: Incident) -> tuple[tuple[str, str], tuple[str, str]]:
    return (one.started_at, one.ended_at), (one.usual_since, one.usual_until)
