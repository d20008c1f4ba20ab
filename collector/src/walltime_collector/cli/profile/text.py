"""The output of `walltime profile`: lines by their time, then a tree from components to lines and what they called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...format import duration, plural, printable, share, uncertain
from ...query.components import family
from ...query.names import shown
from ...query.profile import wording
from ...query.profile.answer import Profile
from ...query.profile.tree import NOT_SAMPLED, Node, tree
from ..drawing.bars import COLOURS
from ..output import left_out

_SMALLEST_SHOWN = 0.005
"""Of the kind's time; smaller branches are summed in one row."""
_WHOLE_CHAIN = 3
"""Frames that called only each other: of more, the outermost one and the two innermost ones are shown."""


def render(profile: Profile, console: Console, limit: int) -> RenderableType:
    """Return what the terminal shows, with at most `limit` lines and as many branches of the tree."""
    header = Text(shown(profile.name), "bold", overflow="fold").append(f"  {printable(profile.service)}", "not bold")
    header.append(f"   {plural(profile.transactions, 'transaction')}, {duration(profile.total_ns)}", "not bold")
    notes = [Text(each, "dim", overflow="fold") for each in wording.notes(profile)]
    parts: list[RenderableType] = [header, *notes, Text(), _tree(profile, limit)]
    if profile.lines:
        parts[-1:-1] = [_lines(profile, limit), Text()]
    return Group(*parts)


def _lines(profile: Profile, limit: int) -> Table:
    """Lines of the application, and what they did: the sums of the stacks that end there."""
    table = _table()
    whole_ns = max(profile.total_ns, 1)
    for each in profile.lines[:limit]:
        label = (
            Text(each.where)
            .append(f"  {each.what}", "dim")
            .append(f"  {printable(each.component)}", _style(each.component))
        )
        table.add_row(uncertain(each.time_ns, each.error_ns), share(each.time_ns / whole_ns), label)
    rest_ns = sum(each.time_ns for each in profile.lines[limit:])
    if rest_ns:
        label = Text(f"({left_out(len(profile.lines) - limit, 'line', limit)})", "dim")
        table.add_row(duration(rest_ns), share(rest_ns / whole_ns), label)
    return table


def _tree(profile: Profile, limit: int) -> Table:
    table = _table()
    root = tree(profile)
    for node, depth, name in _rows(root, 0, _largest(root, limit)):
        style = _style(name) if depth == 0 else "dim" if name.startswith("(") else ""
        numbers = ("", "") if node is None else (_time(node, depth), share(node.time_ns / max(root.time_ns, 1)))
        table.add_row(*numbers, Text("  " * depth + printable(name), style))
    return table


def _table() -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("right", "right", "left"):
        table.add_column(justify=justify, no_wrap=justify == "right", overflow="fold")
    return table


def _style(component: str) -> str:
    return COLOURS[family(component)]


def _largest(root: Node, limit: int) -> set[int]:
    """The `id` of what is shown: all components, and below them the `limit` branches with the most time."""
    components = sorted(root.children.values(), key=_most_time)
    branches = [each for component in components for first in component.children.values() for each in _branches(first)]
    largest = sorted(branches, key=lambda each: -each.time_ns)[:limit]  # stable: a branch comes before those in it
    return {id(each) for each in components + largest if each.time_ns >= _SMALLEST_SHOWN * root.time_ns}


def _branches(node: Node) -> Iterator[Node]:
    yield node
    for child in sorted(_chain(node)[-1].children.values(), key=_most_time):
        yield from _branches(child)


def _chain(node: Node) -> list[Node]:
    """The node, its only child, the only child of that, and so on."""
    chain = [node]
    while len(chain[-1].children) == 1:
        chain += chain[-1].children.values()
    return chain


def _rows(node: Node, depth: int, largest: set[int]) -> Iterator[tuple[Node | None, int, str]]:
    """What is below a node, the most time first: branch, depth and name; None for the further frames of a chain."""
    children = sorted(node.children.values(), key=_most_time)
    for child in children:
        if id(child) not in largest:
            continue
        yield child, depth, child.name
        chain = _chain(child) if depth else [child]
        yield from ((None, depth + 1, name) for name in _shortened([each.name for each in chain[1:]]))
        yield from _rows(chain[-1], depth + 1 + (len(chain) > 1), largest)
    few = [each for each in children if id(each) not in largest]
    if few:
        name = f"({plural(len(few), 'smaller one')})"
        yield Node(name, sum(each.time_ns for each in few), sum(each.samples for each in few)), depth, name


def _shortened(names: Sequence[str]) -> Sequence[str]:
    left_out = len(names) - _WHOLE_CHAIN + 1
    return names if left_out < 2 else [f"({left_out} frames)", *names[left_out:]]


def _most_time(node: Node) -> tuple[int, str]:
    return -node.time_ns, node.name


def _time(node: Node, depth: int) -> str:
    """Of a component it is exact, of a stack an estimate."""
    if not depth or not node.samples or node.name == NOT_SAMPLED:
        return duration(node.time_ns)
    return uncertain(node.time_ns, node.time_ns / sqrt(node.samples))
