"""The output of `walltime top`: the kinds of transaction by time, and the components of each."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from ..format import count, duration, plural, printable, ratio, share
from ..query.answers import Kind, Top
from ..query.components import FAMILIES, family
from ..query.names import NO_ROUTE, shown
from .drawing.bars import COLOURS, by_family, filled, is_coloured, legend, stacked
from .output import HOW_TO_BEGIN, left_out

WIDE = 112
"""From this width on a kind is one row of a table; below, a block of lines."""
_GAP = "  "
_NAMES = ("kind", "service")
_MIN_BAR, _USUAL_BAR, _MIN_KIND = 10, 20, 18
_MAX_SERVICES = 20
_ABOUT_NO_ROUTE = "404s, files, and requests without a framework route; walltime.current().set_name(…) names them"
_MAX_NAME_LINES = 3
_NOTABLE_WAIT = 0.01
"""Of the mean; shorter waits for a CPU or the event loop are not printed."""
"""A terminal shows the beginning of a longer name; `why` accepts it."""


def render(top: Top, console: Console) -> RenderableType:
    """Return what the terminal shows."""
    in_colour = is_coloured(console)
    if not top.kinds:
        return Group(_headline(top, console.width), Text(_nothing(top)))
    several = len({kind.service for kind in top.kinds}) > 1
    body = (_table(top, console, several) if console.width >= WIDE else None) or _blocks(top, console, several)
    seen = {name for kind in top.kinds for name in by_family(_sizes(kind))}
    lines: list[RenderableType] = [
        _headline(top, console.width),
        Text(),
        body,
        Text(),
        legend([name for name in FAMILIES if name in seen], in_colour=in_colour),
    ]
    if any(shown(kind.name).endswith(NO_ROUTE) for kind in top.kinds):
        lines.append(Text(f"{NO_ROUTE}: {_ABOUT_NO_ROUTE}", "dim"))
    if top.all_kinds > len(top.kinds):
        lines.append(Text(left_out(top.all_kinds - len(top.kinds), "kind", len(top.kinds)), "dim"))
    return Group(*lines)


def _nothing(top: Top) -> str:
    """Why there may be no transactions, and what to do."""
    more = len(top.services) - _MAX_SERVICES
    names = ", ".join(printable(name) for name in top.services[:_MAX_SERVICES])
    names += f" and {more} more" if more > 0 else ""
    if top.service and names and top.service not in top.services:
        return f"Nothing is stored for this service. Stored services: {names}."
    if names:
        return f"Nothing is stored for this time. --since looks further back; stored are transactions of {names}."
    return f"Nothing is stored for this time. {HOW_TO_BEGIN}"


def _headline(top: Top, width: int) -> Text:
    items = [Text("Where the time goes" + (f" in {printable(top.service)}" if top.service else ""), "bold")]
    items.append(Text(f"last {_window(top.window_s)}"))
    if top.transactions:
        rate = top.transactions * 60 / top.window_s
        items.append(Text(f"{plural(top.transactions, 'transaction')}, {count(round(rate, 1))} a minute"))
        items.append(Text(f"{share(top.errors / top.transactions)} failed", "red" if top.errors else "dim"))
        items.append(Text(f"by {top.by}", "dim"))
    return filled(items, width, "   ")


def _window(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{count(round(seconds / size, 1))} {unit}"
    return f"{seconds:.0f} seconds"


def _table(top: Top, console: Console, several: bool) -> RenderableType | None:
    """
    One line of numbers with a bar per kind, and below it its components.

    A name that does not fit into its column has a line of its own. None when a bar would not fit.
    """
    width, in_colour = console.width, is_coloured(console)
    statuses = _statuses(top)
    cells = [_cells(kind, several, statuses) for kind in top.kinds]
    headings = {heading: Text(heading, "dim") for heading in cells[0]}
    widths = {heading: max(len(heading), *(row[heading].cell_len for row in cells)) + len(_GAP) for heading in headings}
    if several:
        widths["service"] = min(widths["service"], width // 5)
    room = width - (sum(widths.values()) - widths["kind"]) - _USUAL_BAR
    widths["kind"] = min(widths["kind"], width // 3, max(room, _MIN_KIND))
    bar_width = width - sum(widths.values())
    if bar_width < _MIN_BAR:
        return None
    lines: list[RenderableType] = [_line(headings, widths).append("where its time goes", "dim")]
    for kind, row in zip(top.kinds, cells, strict=True):
        bar = stacked(by_family(_sizes(kind)), bar_width, in_colour=in_colour)
        beside = _beside(kind)
        spent = Text("  ").append_text(_mainly(kind, width - 2 - beside.cell_len))
        spent.append(" " * (width - spent.cell_len - beside.cell_len)).append_text(beside)
        if any(row[heading].cell_len + len(_GAP) > widths[heading] for heading in _NAMES if heading in row):
            lines.append(_name_line(kind, several, console))
            row.update({heading: Text() for heading in _NAMES if heading in row})
        lines += [_line(row, widths).append_text(bar), spent, Text()]
    return Group(*lines[:-1])


def _cells(kind: Kind, several: bool, statuses: Mapping[str, str]) -> dict[str, Text]:
    service = {"service": Text(printable(kind.service), "dim")} if several else {}
    return {"kind": _name(kind), **service, **_numbers(kind, statuses)}


def _line(cells: Mapping[str, Text], widths: Mapping[str, int]) -> Text:
    line = Text(no_wrap=True)
    for heading, text in cells.items():
        padding = " " * (widths[heading] - len(_GAP) - text.cell_len)
        line.append_text(text + padding if heading in _NAMES else Text(padding) + text).append(_GAP)
    return line


def _blocks(top: Top, console: Console, several: bool) -> Group:
    blocks: list[RenderableType] = []
    width, statuses = console.width, _statuses(top)
    for kind in top.kinds:
        numbers = filled(
            [Text(f"{heading} ", "dim") + number for heading, number in _numbers(kind, statuses).items()], width - 2
        )
        bar = stacked(by_family(_sizes(kind)), width - 2, in_colour=is_coloured(console))
        name = _name_line(kind, several, console)
        blocks.append(Group(name, Padding(Group(numbers, bar, _mainly(kind, width - 2)), (0, 0, 1, 2))))
    return Group(*blocks)


def _name_line(kind: Kind, several: bool, console: Console) -> Text:
    """The whole name and its service: in a pipe one line, on a terminal at most _MAX_NAME_LINES."""
    name = _name(kind)
    if console.is_terminal:
        name.truncate(_MAX_NAME_LINES * console.width, overflow="ellipsis")
    if several:
        name.append(f"{_GAP}{printable(kind.service)}", "not bold dim")
    name.overflow, name.no_wrap = ("fold", False) if console.is_terminal else ("ignore", True)
    return name


def _name(kind: Kind) -> Text:
    return Text(shown(kind.name), "bold")


def _statuses(top: Top) -> dict[str, str]:
    """The status columns that any kind needs, with their colours."""
    return {
        heading: style
        for heading, style in (("4xx", "yellow"), ("5xx", "red"))
        if any(getattr(kind, f"status_{heading}") for kind in top.kinds)
    }


def _numbers(kind: Kind, statuses: Mapping[str, str]) -> dict[str, Text]:
    shares = {heading: getattr(kind, f"status_{heading}") / kind.transactions for heading in statuses}
    return {
        "share": Text(share(kind.share), "bold"),
        "per min": Text(count(round(kind.per_minute, 1))),
        "p50": Text(duration(kind.p50_ns)),
        "p95": Text(duration(kind.p95_ns)),
        "p99": Text(duration(kind.p99_ns)),
        "errors": Text(count(kind.errors), "bold red" if kind.errors else "dim"),
        **{heading: Text(share(part), statuses[heading] if part else "dim") for heading, part in shares.items()},
    }


def _sizes(kind: Kind) -> dict[str, float]:
    return {component.name: float(component.time_ns) for component in kind.components} | {"other": float(kind.other_ns)}


def _mainly(kind: Kind, width: int) -> Text:
    """The components with the most time per transaction, as many as fit on one line."""
    costs = [(kind.other_ns / kind.transactions, "other", f" {duration(kind.other_ns / kind.transactions)}")]
    for component in kind.components:
        words = f" {duration(component.mean_ns)} ×{count(component.calls_per_transaction)}"
        if looked_up := component.hits + component.misses:
            words += f", {ratio(component.hits, looked_up)} hit"
        if component.skipped:
            words += f", {count(component.skipped)} skipped"
        costs.append((component.mean_ns, component.name, words))
    costs = sorted((cost for cost in costs if cost[0] > 0), reverse=True)
    line = Text()
    for at, (_, name, words) in enumerate(costs):
        item = Text("   " if line else "").append(printable(name), COLOURS[family(name)]).append(words)
        left = f"   {len(costs) - at} more"
        needed = item.cell_len + (len(left) if at + 1 < len(costs) else 0)
        if line and line.cell_len + needed > width:
            return line.append(left, "dim")
        line.append_text(item)
    return line


def _beside(kind: Kind) -> Text:
    """CPU, which is spent inside the components, and queue time, which is before them."""
    words = Text()
    for name, mean_ns in (("cpu", kind.cpu_mean_ns), ("queue", kind.queue_mean_ns)):
        if mean_ns is not None:
            words.append(f"   {name} {duration(mean_ns)}", "dim")
    for name, mean_ns in (("cpu.wait", kind.cpu_wait_mean_ns), ("loop.wait", kind.loop_wait_mean_ns)):
        if mean_ns and mean_ns >= _NOTABLE_WAIT * kind.mean_ns:
            words.append(f"   {name} {duration(mean_ns)}", "dim")
    return words
