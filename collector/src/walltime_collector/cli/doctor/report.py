"""What `walltime doctor` prints: the steps, then each application with what was found in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...format import plural, printable
from .applications import described
from .command import Examination


def as_document(examination: Examination) -> dict[str, Any]:
    """The examination as JSON."""
    return asdict(examination)


def render(examination: Examination) -> RenderableType:
    """What the terminal shows."""
    steps = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2):
        steps.add_column(no_wrap=True)
    steps.add_column(justify="right", no_wrap=True)
    steps.add_column(overflow="fold")
    for step in examination.steps:
        said = Text(printable(step.said))
        if step.what_now:
            said.append(f"\n{printable(step.what_now)}")
        mark = Text("ok  ", "green") if step.is_ok else Text("ILL ", "bold red")
        steps.add_row(mark, Text(step.name, "bold"), Text(f"{step.took_s * 1000:.0f} ms", "dim"), said)
    looks = sum(not finding.is_ill for finding in examination.findings)
    if not examination.is_ok:
        last = "something is wrong; see above"
    elif looks:
        last = f"nothing is wrong; {plural(looks, 'thing')} to look at, see above"
    else:
        last = "all is well"
    return Group(steps, *_applications(examination), Text(last, "bold"))


def _applications(examination: Examination) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for each in examination.applications:
        line = Text(f"\n{printable(each.service)}", "bold", overflow="fold")
        lines.append(line.append(f"  {described(each, examination.now_s)}", "not bold"))
        found = Table.grid(padding=(0, 2, 0, 0))
        for finding in (one for one in examination.findings if one.service == each.service):
            mark = Text("  ILL ", "bold red") if finding.is_ill else Text("  look", "yellow")
            words = Text(finding.said, overflow="fold").append(f"\n{finding.what_now}", "dim")
            found.add_row(mark, words)
        if found.row_count:
            lines.append(found)
    return [*lines, Text()] if lines else []
