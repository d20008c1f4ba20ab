"""
`make bench`: what the SDK costs per call and per request, beside OpenTelemetry's own instrumentations.

    python -m tests.bench.overhead [--quick] [--json FILE] [--history]

Where Walltime's own part of it goes: `python -m tests.bench.shares`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tests.bench import report
from tests.bench.compare import Plan, compare
from tests.bench.history import append
from tests.bench.machine import ForeignLoad, pin
from tests.bench.recorded import NotRecorded

NARROWEST = 110
"""Columns of the table; a pipe has no width of its own."""


@click.command
@click.option("--quick", is_flag=True, help="A rough answer in half the time.")
@click.option("--rounds", type=click.IntRange(1), default=8, help="Slices of each process.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write every sample to this file.")
@click.option("--history", is_flag=True, help="Add the medians to tests/bench/history.jsonl.")
def main(quick: bool, rounds: int, json_file: Path | None, history: bool) -> None:
    """Measure what Walltime and OpenTelemetry's own instrumentations add to a request."""
    plan = Plan(processes=1 if quick else 2, rounds=rounds)
    foreign = ForeignLoad()
    pin(0, 0)
    columns = (TextColumn("measuring"), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=plan.processes * plan.rounds)
        try:
            results = compare(plan, lambda: progress.advance(task))
        except NotRecorded as error:
            sys.exit(str(error))
    foreign_cores = foreign.cores()
    console = Console()
    console.width = max(console.width, NARROWEST)
    console.print(report.for_people(results, plan, foreign_cores))
    document = report.for_programs(results, plan, foreign_cores)
    if history:
        append(document)
    if json_file is not None:
        json_file.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
