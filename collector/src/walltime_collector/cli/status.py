"""The output of `walltime status`."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from ..format import age, count, plural, printable, share, size
from ..health.checks import counted_problems, over_limit
from ..health.status import Loss, Status, Table
from .output import HOW_TO_BEGIN

_TRANSACTIONS = ("transactions", "transactions_local")
_WIDE = 105
"""From this width on the table has all columns."""


def render(status: Status, console: Console) -> RenderableType:
    """Return what the terminal shows."""
    parts: list[RenderableType] = [_headline(status), Text(), _spans(status), _spool(status)]
    parts += [Text(problem, "yellow") for problem, _ in counted_problems(status)]
    for path, error in status.slow_logs.items():
        parts.append(Text(f"slow log {printable(path)}: {printable(error) or 'followed'}", "yellow" if error else ""))
    for name, (error, lacks) in status.servers.items():
        problem = printable(error) or printable(lacks)
        parts.append(Text(f"server {printable(name)}: {problem or 'observed'}", "yellow" if problem else ""))
    parts += [
        Text(f"{printable(loss.service)} {_lost(loss)}", "yellow" if loss.what.startswith("lost.") else "dim")
        for loss in status.sdk_losses
    ]
    parts += [Text(problem, "yellow") for problem in over_limit(status)]
    parts.append(Text(f"database: {printable(status.engine)}"))
    if status.engine_error:
        parts.append(Text(f"  it does not answer: {printable(status.engine_error)}", "red"))
    if not status.engine_error and not any(table.name in _TRANSACTIONS and table.rows for table in status.tables):
        parts.append(Text(f"no transaction is stored yet. {HOW_TO_BEGIN}", "yellow"))
    if status.tables:
        parts += [Text(), _tables(status.tables, console.width)]
    if len(status.collectors) > 1:
        parts += [Text(), _collectors(status)]
    return Group(*parts)


def _lost(loss: Loss) -> str:
    processes = f"({plural(loss.processes, 'process', 'processes')}, since they began)"
    if loss.what.startswith("lost."):
        reason = printable(loss.what.removeprefix("lost.").replace("_", " "))
        return f"lost {plural(loss.count, 'transaction')} on its side, {reason} {processes}"
    if loss.what.startswith("outside."):
        program = loss.what.removeprefix("outside.").partition(".")[2]
        if program:
            return (
                f"made {count(loss.count)} of its calls outside of any transaction in {printable(program)} {processes}"
            )
        return f"made {plural(loss.count, 'call')} outside of any transaction, on no bill {processes}"
    return f"{printable(loss.what)} {count(loss.count)} {processes}"


def _headline(status: Status) -> Text:
    line = Text(f"Walltime {status.version}", "bold").append(
        f"   up {age(status.now_ns / 1e9 - status.started_s)}   ", "not bold"
    )
    if status.is_ok:
        return line.append("OK: data moves", "not bold green")
    reasons = "; ".join(
        printable(f"{trouble.reason.replace('_', ' ')}{': ' if trouble.what else ''}{trouble.what}")
        for trouble in status.troubles
    )
    line.append("FAIL: data does not move", "not bold red").append(f": {reasons}", "not bold")
    return line if status.is_ready else line.append("; new data is refused", "not bold red")


def _spans(status: Status) -> Text:
    spans = status.spans
    line = Text(f"spans received {count(spans.received)} = stored {count(spans.stored)}")
    for name in ("rejected", "spooled", "dead", "lost"):
        number = getattr(spans, name)
        line.append(" + ").append(f"{name} {count(number)}", "red" if number and name in ("dead", "lost") else "")
    if spans.dead:
        line.append("   (walltime dead-letter list shows why)", "dim")
    return line


def _spool(status: Status) -> Text:
    spool = status.spool
    line = Text(f"spool {size(spool.size_bytes)} of {size(spool.limit_bytes)}")
    line.append(f", {share(spool.size_bytes / spool.limit_bytes)}")
    line.append(f", the oldest data waits {spool.oldest_s:.1f} s" if spool.size_bytes else ", empty")
    return line.append(f"   disk: {size(spool.disk_free_bytes)} of {size(spool.disk_bytes)} free", "dim")


def _tables(tables: tuple[Table, ...], width: int) -> Grid:
    """A narrow terminal gets fewer columns; --json has all."""
    grid = Grid(box=None, pad_edge=False, show_edge=False, header_style="dim")
    titles = ("table", "rows", "on disk", "a row", "packed to", "parts", "days", "kept for")
    hidden = {"a row", "packed to", "parts"} if width < _WIDE else set()
    for title in titles:
        if title in hidden:
            continue
        grid.add_column(title, justify="left" if title in ("table", "days") else "right", no_wrap=True)
    for table in tables:
        days = f"{table.oldest} … {table.newest}" if table.oldest != table.newest else table.oldest
        cells = (
            printable(table.name),
            count(table.rows),
            size(table.disk_bytes),
            f"{table.disk_bytes / table.rows:.0f} B" if table.rows else "",
            share(table.compressed_bytes / table.uncompressed_bytes) if table.uncompressed_bytes else "",
            count(table.parts),
            days,
            plural(table.retention_days, "day") if table.retention_days else "ever",
        )
        grid.add_row(*(cell for title, cell in zip(titles, cells, strict=True) if title not in hidden))
    return grid


def _collectors(status: Status) -> Grid:
    grid = Grid(box=None, pad_edge=False, show_edge=False, header_style="dim")
    for title in ("collector", "host", "last minute", "", "received in an hour", "stored", "spooled", "lost"):
        grid.add_column(title, justify="left" if title in ("collector", "host", "") else "right", no_wrap=True)
    for each in status.collectors:
        grid.add_row(
            each.collector[:8],
            printable(each.host),
            f"{age(status.now_ns / 1e9 - each.last_minute_s)} ago",
            Text("OK", "green") if each.is_ok else Text("FAIL", "red"),
            count(each.received),
            count(each.stored),
            count(each.spooled),
            Text(count(each.lost), "red" if each.lost else ""),
        )
    return grid
