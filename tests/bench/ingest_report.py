"""The measurements of the collector for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from tests.bench.ingest_runs import ROWS, SMALL_SPOOL_BYTES, Measured
from tests.bench.machine import machine

NARROWEST: Final = 150
"""Columns of the table; a pipe has no width of its own."""
DISTRIBUTIONS: Final = (
    "walltime-collector", "chdb-core", "uvicorn", "httptools", "uvloop", "protobuf", "h2", "clickhouse-connect",
)  # fmt: skip
_HEADINGS: Final = (
    "front\nµs/span", "database\nµs/span", "together\nµs/span", "µs/\nrequest", "acked\nspans/s", "stored\nspans/s",
    "ack\np50 ms", "ack\np99 ms", "front\nMiB", "database\nMiB",
)  # fmt: skip


def for_people(medians: Mapping[tuple[str, str], Measured], foreign_cores: float | None) -> Group:
    """The table, and below it what it depends on."""
    table = Table(title="CPU of the collector per span that is stored and counted", title_justify="left")
    table.box = box.SIMPLE_HEAD
    table.add_column("", no_wrap=True)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    lines = []
    for (row, variant), found in medians.items():
        title = ROWS[row].title + (f" · {variant}" if variant else "")
        database = f"{found.database_us:.2f}" if found.is_apart else ""
        table.add_row(
            title,
            f"{found.front_us:.2f}" if found.is_apart else "",
            database,
            f"[bold]{found.together_us:.2f}",
            f"{found.cpu_per_request_us:,.0f}",
            f"{found.acked_per_s:,.0f}",
            f"{found.stored_per_s:,.0f}",
            f"{found.ack_p50_ms:.1f}",
            f"{found.ack_p99_ms:.1f}",
            f"{found.front_rss_bytes / 2**20:.0f}",
            f"{found.database_rss_bytes / 2**20:.0f}" if found.is_apart else "",
        )
        lines += _said(title, row, found)
    return Group(table, Text("\n".join(lines)), Text(_notes(foreign_cores), style="dim"))


def for_programs(runs: list[dict[str, Any]], foreign_cores: float | None) -> dict[str, Any]:
    """Every run, and what it depends on."""
    return {"machine": machine(), "versions": versions(), "foreign_cores": foreign_cores, "runs": runs}


def versions() -> dict[str, str]:
    """Of what is measured."""
    return {name: version(name) for name in DISTRIBUTIONS if _is_installed(name)}


def _said(title: str, row: str, found: Measured) -> list[str]:
    """What has no column."""
    lines = []
    if row == "ramp":
        how = f"refused: {found.refused}" if found.refused else "sending fell a second behind, or the time was over"
        lines.append(
            f"{title}: kept up with {found.kept_up_per_s:,.0f} spans/s; {found.rate_per_s:,.0f} spans/s when it ended,"
            f" with a spool of {SMALL_SPOOL_BYTES >> 20} MiB ({how})"
        )
    elif found.refused:
        lines.append(f"{title}: answers that were not 200: {found.refused}")
    if found.visible_idle_s is not None and found.visible_busy_s is not None:
        lines.append(
            f"{title}: visible after {found.visible_idle_s:.2f} s when idle, {found.visible_busy_s:.2f} s meanwhile"
            " (the longest of some)"
        )
    return lines


def _notes(foreign_cores: float | None) -> str:
    where = machine()
    packages = ", ".join(f"{name} {number}" for name, number in versions().items())
    foreign = "" if foreign_cores is None else f"Other programs kept {foreign_cores:.2f} cores busy meanwhile.\n"
    return (
        "Collector and engine on one core, the sender on another; in turn on 32 connections unless it says otherwise.\n"
        "CPU: user and system, from the first request until every acknowledged span is stored, and 5 s (quick: 3 s)\n"
        "more for merges. Front: the process that receives; database: the engine's. µs/request: of the front, or of\n"
        "all when there is one process. MiB: the largest so far.\n"
        f"{foreign}{where['processor']}, {where['cores']} cores, {where['system']}, {where['python']}; {packages}."
    )


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except ModuleNotFoundError:
        return False
    return True
