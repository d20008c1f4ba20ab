"""What `walltime doctor` prints: the steps, then each application with what was found in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from ..people import plural, printable
from .doctor import Examination
from .doctor_applications import described


def as_document(examination: Examination) -> dict[str, Any]:
    """The examination as JSON."""
    return asdict(examination)


def render(examination: Examination) -> RenderableType:
    """What the terminal shows."""
    lines = []
    for step in examination.steps:
        line = Text("ok    " if step.is_ok else "ILL   ", "green" if step.is_ok else "bold red")
        line.append(f"{step.name:<12}", "bold").append(f"{step.took_s * 1000:7.0f} ms  ", "dim")
        lines.append(line.append(printable(step.said), "not bold"))
        if step.what_now:
            lines.append(Text(f"      {'':<12}{'':>12}{printable(step.what_now)}"))
    lines += _applications(examination)
    looks = sum(not finding.is_ill for finding in examination.findings)
    if not examination.is_ok:
        lines.append(Text("something is wrong; see above", "bold"))
    elif looks:
        lines.append(Text(f"nothing is wrong; {plural(looks, 'thing')} to look at, see above", "bold"))
    else:
        lines.append(Text("all is well", "bold"))
    return Group(*lines)


def _applications(examination: Examination) -> list[Text]:
    lines = []
    for each in examination.applications:
        line = Text(f"\n{printable(each.service)}", "bold")
        lines.append(line.append(f"  {described(each, examination.now_s)}", "not bold"))
        for finding in (one for one in examination.findings if one.service == each.service):
            mark = Text("  ILL   ", "bold red") if finding.is_ill else Text("  look  ", "yellow")
            lines += [mark.append(finding.said, "not bold default"), Text(f"        {finding.what_now}", "dim")]
    return [*lines, Text()] if lines else []
