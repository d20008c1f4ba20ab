"""The output of `walltime doctor`: the checks, then each application with its findings."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...format import plural, printable
from ...health.checks import Level, worst
from ...health.findings import described
from .checks import Examination
from .clickhouse import ServerExamination

_STYLES: dict[Level, str] = {"OK": "green", "WARN": "yellow", "FAIL": "bold red"}


def render(examination: Examination) -> RenderableType:
    """Return what the terminal shows."""
    steps = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2):
        steps.add_column(no_wrap=True)
    steps.add_column(justify="right", no_wrap=True)
    steps.add_column(overflow="fold")
    for step in examination.steps:
        words = Text(printable(step.message))
        if step.what_now:
            words.append(f"\n{printable(step.what_now)}")
        mark = _mark("OK" if step.is_ok else "FAIL")
        steps.add_row(mark, Text(step.name, "bold"), Text(f"{step.took_s * 1000:.0f} ms", "dim"), words)
    warnings = sum(not finding.is_failure for finding in examination.findings)
    if not examination.is_ok:
        last = "FAIL: see above"
    elif warnings:
        last = f"OK, with {plural(warnings, 'warning')}: see above"
    else:
        last = "OK: all checks passed"
    return Group(steps, *_applications(examination), Text(last, "bold"))


def render_servers(examinations: Sequence[ServerExamination]) -> RenderableType:
    """Return what the terminal shows of ClickHouse servers."""
    parts: list[RenderableType] = []
    for each in examinations:
        table = Table.grid(padding=(0, 2, 0, 0))
        for check in each.checks:
            words = Text(printable(check.what), overflow="fold")
            if check.what_now:
                words.append(f"\n{printable(check.what_now)}", "dim")
            table.add_row(_mark(check.level), Text(check.name, "bold", no_wrap=True), words)
        parts += [Text(printable(each.url), "bold"), table]
    level = worst(check.level for each in examinations for check in each.checks)
    last = {"OK": "OK: all checks passed", "WARN": "OK, with warnings: see above", "FAIL": "FAIL: see above"}
    return Group(*parts, Text(last[level], "bold"))


def _mark(level: Level) -> Text:
    return Text(f"{level:4}", _STYLES[level])


def _applications(examination: Examination) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for each in examination.applications:
        line = Text(f"\n{printable(each.service)}", "bold", overflow="fold")
        lines.append(line.append(f"  {described(each, examination.now_s)}", "not bold"))
        table = Table.grid(padding=(0, 2, 0, 0))
        for finding in (one for one in examination.findings if one.service == each.service):
            words = Text(finding.message, overflow="fold").append(f"\n{finding.what_now}", "dim")
            table.add_row(Text("  "), _mark("FAIL" if finding.is_failure else "WARN"), words)
        if table.row_count:
            lines.append(table)
    return [*lines, Text()] if lines else []
