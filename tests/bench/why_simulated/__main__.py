"""
`make bench-why`: how often `why` claims what is false, and names what is true.

    python -m tests.bench.why_simulated [--family "lognormal 1"] [--pairs 200] [--first 0] [--show 3] [--json FILE]

`--show 3` prints the first three false answers of each family; `--first 17 --pairs 1` asks about one of them again.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .changed import CHANGES
from .looks import week
from .pairs import DRAWS, Judged, Task, judge_in_worker, tasks
from .report import example, markdown
from .unchanged import FAMILIES

UNCHANGED, CHANGED = 2_000, 400
"""Pairs of each family."""


@click.command
@click.option("--family", multiple=True, help="Its name, or a part of its name. [all]")
@click.option("--pairs", default=0, help="Of each family. [2,000; 400 of those with a change]")
@click.option("--first", default=0, help="The number of the first one.")
@click.option("--seed", default=1)
@click.option("--show", default=0, help="So many false answers of each family, with their sentences.")
@click.option("--every", is_flag=True, help="Show true ones as well.")
@click.option("--weeks", type=int, help="Weeks in which nothing happens. [1; 0 with --quick or --family]")
@click.option("--quick", is_flag=True, help="A tenth of the pairs.")
@click.option("--processes", default=os.cpu_count() or 1)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write all answers to this file.")
def main(
    family: tuple[str, ...],
    pairs: int,
    first: int,
    seed: int,
    show: int,
    every: bool,
    weeks: int | None,
    quick: bool,
    processes: int,
    json_file: Path | None,
) -> None:
    """Ask `why` about simulated pairs of windows."""
    known = (*FAMILIES, *CHANGES)
    wanted = {each for text in family or known for each in ([text] if text in known else known) if text in each}
    chosen = [each for each in known if each in wanted]
    if not chosen:
        raise click.BadParameter(f"there are {', '.join(known)}", param_hint="--family")
    tenth = 10 if quick else 1
    asked: list[Task] = []
    for name in chosen:
        count = pairs or (CHANGED if name in CHANGES else UNCHANGED) // tenth
        asked += tasks(name, range(first, first + count), seed, DRAWS // tenth)
    judged: dict[str, list[Judged]] = defaultdict(list)
    shown: dict[str, int] = defaultdict(int)
    console, started_s = Console(stderr=True), time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        multiprocessing.get_context("spawn").Pool(min(processes, len(asked))) as pool,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        some_weeks = (0 if family or quick else 1) if weeks is None else weeks
        opened = pool.map_async(week, range(1, some_weeks + 1))
        bar = progress.add_task("", total=sum(len(task.pairs) for task in asked))
        for answers in pool.imap(judge_in_worker, asked):
            for each in answers:
                judged[each.family].append(each)
                if shown[each.family] < show and (every or not each.is_true or not each.is_inside):
                    shown[each.family] += 1
                    print(example(each), flush=True)
            progress.update(bar, advance=len(answers), description=answers[0].family)
        incidents = opened.get()
        pool.close()
        pool.join()
    print(markdown(judged))
    for headlines in incidents:
        print(f"\nA week of 50 kinds in which nothing happens: {len(headlines)} incidents.", *headlines, sep="\n- ")
    asked_s = time.monotonic() - started_s
    console.print(f"{sum(map(len, judged.values())):,} answers in {asked_s:.0f} s, seed {seed}")
    if json_file is not None:
        json_file.write_text(json.dumps([asdict(each) for all_ in judged.values() for each in all_], indent=1) + "\n")


if __name__ == "__main__":
    main()
