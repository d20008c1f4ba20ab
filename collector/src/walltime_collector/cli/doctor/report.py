"""The output of `walltime doctor`: the checks, then each application with its findings."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...format import plural, printable
from ...health.findings import described
from .checks import Examination

_OK, _WARN, _FAIL = ("OK  ", "green"), ("WARN", "yellow"), ("FAIL", "bold red")


def render(examination: Examination) -> RenderableType:
    """Return what the terminal shows."""
    steps = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2):
        steps.add_column(no_wrap=True)
    steps.add_column(justify="right", no_wrap=True)
    steps.add_column(overflow="fold")
    for step in examination.steps:
        words = Text(printable(step.said))
        if step.what_now:
            words.append(f"\n{printable(step.what_now)}")
        mark = Text(*(_OK if step.is_ok else _FAIL))
        steps.add_row(mark, Text(step.name, "bold"), Text(f"{step.took_s * 1000:.0f} ms", "dim"), words)
    warnings = sum(not finding.is_ill for finding in examination.findings)
    if not examination.is_ok:
        last = "FAIL: see above"
    elif warnings:
        last = f"OK, with {plural(warnings, 'warning')}: see above"
    else:
        last = "OK: all checks passed"
    return Group(steps, *_applications(examination), Text(last, "bold"))


def _applications(examination: Examination) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for each in examination.applications:
        line = Text(f"\n{printable(each.service)}", "bold", overflow="fold")
        lines.append(line.append(f"  {described(each, examination.now_s)}", "not bold"))
        table = Table.grid(padding=(0, 2, 0, 0))
        for finding in (one for one in examination.findings if one.service == each.service):
            words = Text(finding.said, overflow="fold").append(f"\n{finding.what_now}", "dim")
            table.add_row(Text("  "), Text(*(_FAIL if finding.is_ill else _WARN)), words)
        if table.row_count:
            lines.append(table)
    return [*lines, Text()] if lines else []
