"""The output of `walltime profile`: a tree of times, from the kind down to lines and what they called."""

from __future__ import annotations

from collections.abc import Iterator
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

_SMALLEST_SHOWN = 0.005
"""Of the kind's time; smaller branches are summed in one row."""


def render(profile: Profile, console: Console) -> RenderableType:
    """Return what the terminal shows."""
    header = Text(shown(profile.name), "bold", overflow="fold").append(f"  {printable(profile.service)}", "not bold")
    header.append(f"   {plural(profile.transactions, 'transaction')}, {duration(profile.total_ns)}", "not bold")
    lines = [Text(each, "dim", overflow="fold") for each in wording.notes(profile)]
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("right", "right", "left"):
        table.add_column(justify=justify, no_wrap=justify == "right", overflow="fold")
    root = tree(profile)
    for node, depth, is_continued in _rows(root, 0, _SMALLEST_SHOWN * root.time_ns):
        style = COLOURS[family(node.name)] if depth == 0 else "dim" if node.name.startswith("(") else ""
        label = Text("  " * depth + printable(node.name), style)
        numbers = ("", "") if is_continued else (_time(node, depth), share(node.time_ns / max(root.time_ns, 1)))
        table.add_row(*numbers, label)
    return Group(header, *lines, Text(), table)


def _rows(node: Node, depth: int, least_ns: float) -> Iterator[tuple[Node, int, bool]]:
    """Below a node, the most time first: with its depth, and whether it has all the time of the row above."""
    children = sorted(node.children.values(), key=lambda each: (-each.time_ns, each.name))
    rest = Node("")
    for child in children:
        if child.time_ns < least_ns:
            rest.time_ns, rest.samples = rest.time_ns + child.time_ns, rest.samples + child.samples
            continue
        is_alone = bool(depth) and child.time_ns == node.time_ns
        yield child, depth, is_alone
        yield from _rows(child, depth + (not is_alone or not depth), least_ns)
    few = [each for each in children if each.time_ns < least_ns]
    if few and rest.time_ns >= least_ns:
        rest.name = f"({len(few)} smaller ones)"
        yield rest, depth, False


def _time(node: Node, depth: int) -> str:
    """Of a component it is exact, of a stack an estimate."""
    if not depth or not node.samples or node.name == NOT_SAMPLED:
        return duration(node.time_ns)
    return uncertain(node.time_ns, node.time_ns / sqrt(node.samples))
