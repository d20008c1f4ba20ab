"""
`make bench-ingest`: what the collector spends on a span that is stored and counted, and how much it can take.

    python -m tests.bench.ingest [--quick] [--rows 512,bills] [--variant small:segment_bytes=8000000] [--json FILE]

Everything under test is on one core and the sender on the other, but for the row that says otherwise. CPU is that of
/proc/PID/stat from the first request until every acknowledged span is stored, and some seconds more for merges.
"""

from __future__ import annotations

import json
import statistics
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from shop.services import ServiceError

from tests.bench import ingest_report
from tests.bench.ingest_runs import ROWS, Measured, NotStored, Variant, measure
from tests.bench.machine import ForeignLoad

THOROUGH: Final = ("server", "ramp")
"""Rows that a quick run leaves out."""


@click.command
@click.option("--quick", is_flag=True, help="A rough answer in half the time.")
@click.option("--rows", default="", help=f"Only these, comma-separated, of {', '.join(ROWS)}.")
@click.option(
    "--variant", multiple=True, help="NAME:SETTING=VALUE,…: measure with these settings too, in turn with the others."
)
@click.option(
    "--rounds", type=click.IntRange(1), default=1, help="Of each row and variant; what is told is the median."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write every run to this file.")
def main(quick: bool, rows: str, variant: tuple[str, ...], rounds: int, json_file: Path | None) -> None:
    """Measure the collector's receiving and storing."""
    variants = [Variant.of(each) for each in variant or []] or [Variant("")]
    chosen = [name.strip() for name in rows.split(",")] if rows else [n for n in ROWS if not (quick and n in THOROUGH)]
    if unknown := [name for name in chosen if name not in ROWS]:
        sys.exit(f"no row is called {unknown[0]}; there are {', '.join(ROWS)}")
    foreign = ForeignLoad()
    found: dict[tuple[str, str], list[Measured]] = {}
    errors = Console(stderr=True)
    try:
        for _ in range(rounds):
            for name in chosen:
                for each in variants:
                    with errors.status(f"{name} {each.name}"):
                        found.setdefault((name, each.name), []).append(measure(name, each, is_quick=quick))
    except (NotStored, ServiceError) as error:
        sys.exit(str(error))
    medians = {key: _median(runs) for key, runs in found.items()}
    foreign_cores = foreign.cores()
    console = Console()
    console.width = max(console.width, ingest_report.NARROWEST)
    console.print(ingest_report.for_people(medians, foreign_cores))
    if json_file is not None:
        runs = [{"row": row, "variant": name, **asdict(run)} for (row, name), all_ in found.items() for run in all_]
        json_file.write_text(json.dumps(ingest_report.for_programs(runs, foreign_cores), indent=1) + "\n")


def _median(runs: list[Measured]) -> Measured:
    """Each number by itself."""
    numbers = {
        name: statistics.median(values)
        for name in asdict(runs[0])
        if None not in (values := [asdict(run)[name] for run in runs]) and not isinstance(values[0], (bool, dict))
    }
    return Measured(**{**asdict(runs[0]), **numbers})


if __name__ == "__main__":
    main()
