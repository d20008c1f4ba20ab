"""
`make bench-scale`: disk per transaction and per kept call, and how long answers and pages take where there is a lot.

    python -m tests.bench.scale [--rows 10000000] [--days 1] [--only disk|answers|pages|live] [--folder DIR] [--again]

The disk is that of the shop's real data, stored through everything and merged. The answers are over copies of it:
10 million transactions and their calls, some 100 million, in the embedded engine.
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
from rich.console import Console, Group
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid
from rich.text import Text
from shop.services import ServiceError

from tests.bench.ingest_report import versions
from tests.bench.machine import ForeignLoad, machine
from tests.bench.scale_ask import Took, ask_all
from tests.bench.scale_disk import Table, measure_disk
from tests.bench.scale_fill import Filled, already, engine_in, multiply, store
from tests.bench.scale_live import LiveTook, watch
from tests.bench.scale_pages import PageTook, browse
from tests.bench.shop_recorded import recorded
from tests.servers import Collector

NARROWEST: Final = 120
SAMPLED: Final = 0.95
"""So many of the copied transactions have their calls: ten for every transaction."""
SHOWN_COLUMNS: Final = 0.05
"""Bytes per row; smaller columns are added up."""


@click.command
@click.option(
    "--rows", type=click.IntRange(1), default=10_000_000, help="Transactions; calls are some ten times as many."
)
@click.option("--days", default=1.0, help="They are spread over so many.")
@click.option("--only", default="", help="`disk`, `answers`, `pages` or `live`.")
@click.option("--seconds", default=60.0, help="How long the shop is recorded for its disk.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where the data goes, and stays. [a temporary one]")
@click.option("--again", is_flag=True, help="Ask what an earlier run has left in --folder; fill nothing.")
@click.option("--times", type=click.IntRange(1), default=5, help="Each page with each kind of parameters so often.")
@click.option("--live-seconds", default=60.0, help="How long 20 people watch live pages.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write everything to this file.")
def main(
    rows: int,
    days: float,
    only: str,
    seconds: float,
    folder: Path | None,
    again: bool,
    times: int,
    live_seconds: float,
    json_file: Path | None,
) -> None:
    """Measure what data takes on disk, and how long answers over much of it take."""
    if again and (folder is None or not (folder / "answers").is_dir()):
        raise click.BadParameter("nothing is there to ask; say the --folder of an earlier run", param_hint="--again")
    foreign = ForeignLoad()
    console = Console()
    console.width = max(console.width, NARROWEST)
    found: dict[str, Any] = {"machine": machine(), "versions": versions()}
    where = folder or Path(tempfile.mkdtemp(prefix="walltime-bench-"))
    try:
        if only in ("", "disk") and not again:
            tables = measure_disk(where / "disk", recorded(seconds))
            console.print(disk_for_people(tables))
            found["disk"] = [asdict(table) for table in tables]
        if only != "disk":
            found["filled"] = asdict(filled := fill(where / "answers", rows, days, again=again))
        if only in ("", "answers"):
            with Collector(where / "answers") as collector:
                took = ask_all(collector)
            console.print(answers_for_people(filled, took))
            found["answers"] = [asdict(each) for each in took]
        if only in ("", "pages"):
            with Collector(where / "answers") as collector:
                pages = browse(collector, times)
            console.print(pages_for_people(pages))
            found["pages"] = [asdict(each) for each in pages]
        if only in ("", "live"):
            with Collector(where / "answers") as collector:
                live = watch(collector, live_seconds)
            console.print(live_for_people(live))
            found["live"] = [asdict(each) for each in live]
    except ServiceError as error:
        sys.exit(str(error))
    finally:
        if folder is None:
            shutil.rmtree(where)
    found["foreign_cores"] = foreign.cores()
    console.print(Text(_notes(found), style="dim"))
    if json_file is not None:
        json_file.write_text(json.dumps(found, indent=1) + "\n")


def fill(folder: Path, rows: int, days: float, *, again: bool, sampled: float = SAMPLED) -> Filled:
    """Fill a collector's data directory unless it is `again`."""
    columns = (TextColumn("filling"), BarColumn(), TextColumn("{task.percentage:.0f} %"), TimeElapsedColumn())
    with engine_in(folder) as engine, Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        if again:
            return already(engine)
        task = progress.add_task("", total=1)
        store(engine, recorded(20, sampled=sampled))
        return multiply(engine, rows, days, lambda share: progress.update(task, completed=share))


def disk_for_people(tables: Sequence[Table]) -> Group:
    """A table per table."""
    transactions = next(table.rows for table in tables if table.name == "transactions")
    parts: list[Grid | Text] = []
    for table in tables:
        whole = table.bytes_on_disk / table.rows
        said = f"{table.name}: {whole:.1f} bytes a row on disk, {table.rows:,} rows"
        per_transaction = f", {table.bytes_on_disk / transactions:.1f} bytes a transaction"
        parts.append(Text(said + per_transaction * (table.name != "transactions"), style="bold"))
        if table.name not in ("transactions", "spans"):
            continue
        grid = Grid("column", "type", box=box.SIMPLE_HEAD)
        grid.add_column("on disk", justify="right")
        grid.add_column("in memory", justify="right")
        small = [column for column in table.columns if column.compressed < SHOWN_COLUMNS]
        for column in table.columns:
            if column not in small:
                grid.add_row(column.name, column.kind, f"{column.compressed:.2f}", f"{column.uncompressed:.1f}")
        grid.add_row(f"{len(small)} more", "", f"{sum(column.compressed for column in small):.2f}", "")
        rest = whole - sum(column.compressed for column in table.columns)
        grid.add_row(
            "indexes, marks, checksums", f"of these indexes {table.index_bytes / table.rows:.2f}", f"{rest:.2f}", ""
        )
        parts.append(grid)
    return Group(*parts)


def answers_for_people(filled: Filled, took: Sequence[Took]) -> Group:
    """What was asked, and how long it took."""
    grid = Grid(
        title=f"Over {filled.transactions:,} transactions and {filled.spans:,} calls", title_justify="left",
        box=box.SIMPLE_HEAD,
    )  # fmt: skip
    grid.add_column("")
    for heading in ("times", "first ms", "median ms", "longest ms"):
        grid.add_column(heading, justify="right")
    for each in took:
        numbers = (each.first_ms, each.median_ms, each.longest_ms)
        grid.add_row(each.question, str(each.times), *(f"{number:,.0f}" for number in numbers))
    filling = f"Filled in {filled.copying_s:.0f} s, merged {filled.merging_s:.0f} s more, into {filled.parts} parts."
    return Group(grid, Text(filling if filled.copying_s else f"Filled by an earlier run; {filled.parts} parts."))


def pages_for_people(took: Sequence[PageTook]) -> Grid:
    """How long each view took, beside the bar."""
    grid = Grid(title="Pages", title_justify="left", box=box.SIMPLE_HEAD)
    grid.add_column("view")
    grid.add_column("parameters")
    for heading in ("times", "median ms", "p95 ms", "CPU median ms", "CPU p95 ms", "bar ms", "KiB"):
        grid.add_column(heading, justify="right")
    for each in took:
        numbers = (each.median_ms, each.p95_ms, each.median_cpu_ms, each.p95_cpu_ms, each.bar_ms)
        size = f"{each.largest_bytes / 1024:.0f}"
        style = "bold" if each.p95_ms > each.bar_ms else ""
        grid.add_row(
            each.view, each.params, str(each.times), *(f"{number:,.0f}" for number in numbers), size, style=style
        )
    return grid


def live_for_people(took: Sequence[LiveTook]) -> Grid:
    """What people on live pages cost, beside the bar."""
    grid = Grid(title="Live pages", title_justify="left", box=box.SIMPLE_HEAD)
    grid.add_column("")
    for heading in ("people", "requests", "of them 304", "s", "idle, of a core", "more, of a core", "bar"):
        grid.add_column(heading, justify="right")
    for each in took:
        shares = (f"{share:.1%}" for share in (each.idle_share, each.share, each.bar))
        counts = (each.people, each.requests, each.answered_304, round(each.seconds))
        grid.add_row(each.about, *map(str, counts), *shares)
    return grid


def _notes(found: dict[str, Any]) -> str:
    where, cores = found["machine"], found["foreign_cores"]
    packages = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    foreign = "" if cores is None else f"Other programs kept {cores:.2f} cores busy meanwhile.\n"
    return (
        "Answers and pages: over HTTP from a collector that has just been started, to the last byte.\n"
        f"{foreign}"
        f"{where['processor']}, {where['cores']} cores, {where['system']}, {where['python']}; {packages}."
    )


if __name__ == "__main__":
    main()
