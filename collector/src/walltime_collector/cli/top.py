"""`walltime top`: which kinds of transaction take the time, and on what."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..answers import Kind, Top
from ..components import FAMILIES, family
from ..people import count, duration, plural, printable, ratio, share
from .bars import COLOURS, by_family, legend, stacked

WIDE = 112
"""From this many columns a kind is one row of a table; below, a block of lines."""


def render(top: Top, console: Console) -> RenderableType:
    """What the terminal shows; the caller prints it."""
    in_colour = console.color_system is not None
    if not top.kinds:
        return Group(
            _headline(top),
            Text(
                "Nothing is stored for this time. Is the application instrumented, and does it send to this collector?"
            ),
        )
    several = len({kind.service for kind in top.kinds}) > 1
    body = (
        _table(top, console.width, several, in_colour)
        if console.width >= WIDE
        else _blocks(top, console.width, several, in_colour)
    )
    seen = {name for kind in top.kinds for name in by_family(_sizes(kind))}
    lines: list[RenderableType] = [
        _headline(top),
        Text(),
        body,
        Text(),
        legend([name for name in FAMILIES if name in seen], in_colour=in_colour),
    ]
    if top.all_kinds > len(top.kinds):
        lines.append(Text(f"{plural(top.all_kinds - len(top.kinds), 'more kind')}: --limit {top.all_kinds}", "dim"))
    return Group(*lines)


def _headline(top: Top) -> Text:
    line = Text("Where the time goes", "bold")
    if top.service:
        line.append(f" in {printable(top.service)}")
    line.append(f"   last {_window(top.window_s)}", "not bold")
    if top.transactions:
        rate = top.transactions * 60 / top.window_s
        line.append(f"   {plural(top.transactions, 'transaction')}, {count(round(rate, 1))} a minute", "not bold")
        line.append(
            f"   {share(top.errors / top.transactions)} failed", "not bold red" if top.errors else "not bold dim"
        )
        line.append(f"   by {top.by}", "not bold dim")
    return line


def _window(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{count(round(seconds / size, 1))} {unit}"
    return f"{seconds:.0f} seconds"


def _table(top: Top, width: int, several: bool, in_colour: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    names = [_name(kind) for kind in top.kinds]
    name_width = min(max(len("kind"), *(name.cell_len for name in names)), width // 4)
    table.add_column("kind", width=name_width)
    if several:
        table.add_column("service", no_wrap=True, max_width=14)
    for heading in ("share", "per min", "p50", "p95", "p99", "errors"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("where the time of a transaction goes", ratio=1)
    fixed = name_width + 2 + (_widest_service(top) + 2 if several else 0)
    bar_width = max(width - fixed - 6 * 10 + 2, 24)
    for kind, name in zip(top.kinds, names, strict=True):
        row: list[RenderableType] = [name]
        if several:
            row.append(Text(printable(kind.service), "dim", overflow="ellipsis"))
        row.extend(_numbers(kind).values())
        row.append(
            Group(stacked(by_family(_sizes(kind)), bar_width, in_colour=in_colour), _mainly(kind, bar_width), Text())
        )
        table.add_row(*row)
    return table


def _blocks(top: Top, width: int, several: bool, in_colour: bool) -> Group:
    blocks: list[RenderableType] = []
    for kind in top.kinds:
        name = _name(kind)
        if several:
            name.append(f"  {printable(kind.service)}", "not bold dim")
        numbers = Text()
        for heading, number in _numbers(kind).items():
            numbers.append("  " if numbers else "").append(f"{heading} ", "dim").append(number)
        bar = stacked(by_family(_sizes(kind)), width - 2, in_colour=in_colour)
        blocks.append(Group(name, Padding(Group(numbers, bar, _mainly(kind, width - 2)), (0, 0, 1, 2))))
    return Group(*blocks)


def _widest_service(top: Top) -> int:
    return min(max(len("service"), *(len(printable(kind.service)) for kind in top.kinds)), 14)


def _name(kind: Kind) -> Text:
    return Text(printable(kind.name) or "(no name)", "bold", overflow="fold")


def _numbers(kind: Kind) -> dict[str, Text]:
    return {
        "share": Text(share(kind.share), "bold"),
        "per min": Text(count(round(kind.per_minute, 1))),
        "p50": Text(duration(kind.p50_ns)),
        "p95": Text(duration(kind.p95_ns)),
        "p99": Text(duration(kind.p99_ns)),
        "errors": Text(count(kind.errors), "bold red" if kind.errors else "dim"),
    }


def _sizes(kind: Kind) -> dict[str, float]:
    return {component.name: float(component.time_ns) for component in kind.components} | {"other": float(kind.other_ns)}


def _mainly(kind: Kind, width: int) -> Text:
    """The components that cost most, per transaction, as many as fit on one line."""
    costs = [(kind.other_ns / kind.transactions, "other", f" {duration(kind.other_ns / kind.transactions)}")]
    for component in kind.components:
        said = f" {duration(component.mean_ns)} ×{count(component.calls_per_transaction)}"
        if looked_up := component.hits + component.misses:
            said += f" {ratio(component.hits, looked_up)} hit"
        costs.append((component.mean_ns, component.name, said))
    costs = sorted((cost for cost in costs if cost[0] > 0), reverse=True)
    line = Text()
    for at, (_, name, said) in enumerate(costs):
        item = Text("   " if line else "").append(printable(name), COLOURS[family(name)]).append(said)
        left = f"   +{len(costs) - at}"
        needed = item.cell_len + (len(left) if at + 1 < len(costs) else 0)
        if line and line.cell_len + needed > width:
            return line.append(left, "dim")
        line.append_text(item)
    return line
