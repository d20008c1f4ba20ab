"""
`make bench-dashboards`: how long the boards of dashboards/generated take over 10 million transactions of a day.

    python -m tests.bench.boards [--rows 10000000] [--folder DIR] [--again] [--hours 24] [--json FILE]

Each query goes to the collector's ClickHouse interface as Grafana's plugin sends it, to the last byte. `alone` is a
panel's first query after a start of the collector, with nothing beside it. `board` is all of a board's variables, one
after the other, then its panels and annotations, at most six at a time as a browser does, first after a start.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click
from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text
from shop.services import ServiceError

from tests.bench.boards_ask import BOARD_S, PANEL_MS, VIEWERS_SHARE, BoardTook, Viewed, measure, view
from tests.bench.ingest_report import versions
from tests.bench.machine import ForeignLoad, machine
from tests.bench.scale import fill

NARROWEST: Final = 120
SAMPLED: Final = 0.03
"""So many of the copied transactions have their calls: one board shows those of a single one."""
HOURS: Final = (1.0, 24.0)


@click.command
@click.option("--rows", type=click.IntRange(1), default=10_000_000, help="Transactions.")
@click.option("--days", default=1.0, help="They are spread over so many.")
@click.option("--hours", multiple=True, type=float, default=HOURS, help="Length of the time shown. [1 and 24]")
@click.option("--only", default="", help="Boards whose address has this (a regular expression).")
@click.option("--folder", type=click.Path(path_type=Path), help="Where the data goes, and stays. [a temporary one]")
@click.option("--again", is_flag=True, help="Ask what an earlier run has left in --folder; fill nothing.")
@click.option("--seconds", default=60.0, help="How long ten viewers watch; 0: not at all.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write everything to this file.")
def main(
    rows: int,
    days: float,
    hours: tuple[float, ...],
    only: str,
    folder: Path | None,
    again: bool,
    seconds: float,
    json_file: Path | None,
) -> None:
    """Measure every panel and every board."""
    if again and (folder is None or not (folder / "answers").is_dir()):
        raise click.BadParameter("nothing is there to ask; say the --folder of an earlier run", param_hint="--again")
    foreign, console = ForeignLoad(), Console()
    console.width = max(console.width, NARROWEST)
    where = folder or Path(tempfile.mkdtemp(prefix="walltime-bench-"))
    found: dict[str, Any] = {"machine": machine(), "versions": versions()}
    try:
        filled = fill(where / "answers", rows, days, again=again, sampled=SAMPLED)
        console.print(f"Over {filled.transactions:,} transactions")
        boards = []
        for length in hours:
            for took in measure(where / "answers", length * 3_600, only):
                console.print(panels_for_people(took))
                boards.append(took)
        console.print(boards_for_people(boards))
        found |= {"filled": asdict(filled), "boards": [asdict(each) for each in boards]}
        if seconds:
            found["viewed"] = asdict(viewed := view(where / "answers", seconds, only))
            console.print(viewed_for_people(viewed))
    except ServiceError as error:
        sys.exit(str(error))
    finally:
        if folder is None:
            shutil.rmtree(where)
    cores = found["foreign_cores"] = foreign.cores()
    foreign_text = "" if cores is None else f"Other programs kept {cores:.2f} cores busy meanwhile. "
    where_text = "{processor}, {cores} cores.".format(**found["machine"])
    console.print(Text(foreign_text + where_text, style="dim"))
    if json_file is not None:
        json_file.write_text(json.dumps(found, indent=1) + "\n")


def panels_for_people(board: BoardTook) -> Grid:
    """A board's panels, beside the bar."""
    headings = ("panel", "points, s", "alone ms", "CPU ms", "rows", f"bar {PANEL_MS:.0f}")
    grid = _grid(f"{board.board}, {board.hours:g} h", *headings)
    for each in board.panels:
        numbers = (f"{each.alone_ms:,.0f}", f"{each.cpu_ms:,.0f}", f"{each.rows:,}")
        verdict = each.error or ("over" if each.alone_ms > PANEL_MS else "")
        grid.add_row(each.panel, str(each.interval_s), *numbers, verdict)
    return grid


def boards_for_people(took: Sequence[BoardTook]) -> Grid:
    """All boards, beside the bar."""
    headings = ("hours", "queries", "first s", "again s", "CPU s", "slowest panel s", "errors", f"bar {BOARD_S:g}")
    grid = _grid("Boards", "board", *headings)
    for board in took:
        times = (f"{each:.2f}" for each in (board.first_s, board.again_s, board.cpu_s, board.slowest_s))
        verdict = "over" if board.first_s > BOARD_S else ""
        grid.add_row(board.board, f"{board.hours:g}", str(board.queries), *times, str(board.errors), verdict)
    return grid


def viewed_for_people(viewed: Viewed) -> Grid:
    """What people who watch cost."""
    headings = ("queries", "errors", "s", "CPU ms a query", "of a core", f"bar {VIEWERS_SHARE:.0%}")
    grid = _grid("Viewers", "viewers", *headings)
    counts = (str(each) for each in (viewed.viewers, viewed.queries, viewed.errors, round(viewed.seconds)))
    verdict = "over" if viewed.share > VIEWERS_SHARE else ""
    grid.add_row(*counts, f"{viewed.cpu_ms:.1f}", f"{viewed.share:.1%}", verdict)
    return grid


def _grid(title: str, first: str, *headings: str) -> Grid:
    grid = Grid(first, title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in headings:
        grid.add_column(heading, justify="right")
    return grid


if __name__ == "__main__":
    main()
