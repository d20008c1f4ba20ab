"""The profile as paths from the outermost frame to the innermost one, and as a tree; both add up to the bill."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from ..sampling import Sampled, doing
from .answer import Profile

NOT_SAMPLED = "(not sampled)"
CUT = "…"
"""In place of frames in the middle of a deep stack (walltime/sampling/stacks.py)."""


class Path(NamedTuple):
    """A component, the frames in it, and what they called or waited for."""

    frames: tuple[str, ...]
    samples: int
    """0 for time that no sample stands for."""
    time_ns: int
    state: str


@dataclass
class Node:
    """A frame with all that it called."""

    name: str
    time_ns: int = 0
    samples: int = 0
    children: dict[str, Node] = field(default_factory=dict)


def paths(profile: Profile, *, has_library: bool = True) -> Iterator[Path]:
    """
    Every stack below its component; the rest of a component's time is below it, too. No time is negative.

    Args:
        has_library: With all frames; otherwise with those down to the line of the application, and what it called.
    """
    for part in profile.parts:
        mine = [each for each in profile.stacks if each.component == part.name]
        for each in mine:
            yield Path((part.name, *_frames(each, has_library)), each.samples, each.time_ns, each.state)
        rest_ns = part.time_ns - sum(each.time_ns for each in mine)
        if rest_ns > 0:
            label = f"(not {doing(profile.state)}, or not sampled)" if profile.state else NOT_SAMPLED
            yield Path((part.name, label) if part.is_container or mine else (part.name,), 0, rest_ns, "")


def tree(profile: Profile) -> Node:
    """
    The root is the kind; children are in no order.

    Below a component, stacks begin at the last frame that all of them have: those before it called the component.
    Stacks that were cut (`…`) have one root, so that what they have in common is one branch.
    """
    root = Node(profile.name)
    every = [_without_cut(path) for path in paths(profile, has_library=False)]
    for component in dict.fromkeys(path.frames[0] for path in every):
        mine = [path for path in every if path.frames[0] == component]
        whole = {path.frames[1:] for path in mine if path.samples and CUT not in path.frames}
        before = _in_common(whole) - 1
        for path in mine:
            start = 1 + max(before, 0) if path.frames[1:] in whole else 1
            node = root
            for frame in ("", component, *path.frames[start:]):
                node = node.children.setdefault(frame, Node(frame)) if frame else node
                node.time_ns, node.samples = node.time_ns + path.time_ns, node.samples + path.samples
    return root


def _in_common(stacks: Collection[tuple[str, ...]]) -> int:
    """How many of their first frames are the same; 0 for one stack alone."""
    together = zip(*stacks, strict=False) if len(stacks) > 1 else ()
    return sum(1 for _ in takewhile(lambda frames: len(set(frames)) == 1, together))


def _without_cut(path: Path) -> Path:
    """The frames inside of the cut: how far outside of it they began differs by sample."""
    if CUT not in path.frames:
        return path
    return path._replace(frames=(path.frames[0], *path.frames[path.frames.index(CUT) :]))


def _frames(of: Sampled, has_library: bool) -> Iterator[str]:
    frames = of.stack.split(";") if of.stack else [f"{of.function} ({of.line})" if of.function else of.line]
    if of.is_named and not has_library:
        last = max((at for at, frame in enumerate(frames) if frame.endswith(f"({of.line})")), default=len(frames))
        frames = frames[: last + 1]
    yield from filter(None, frames)
    # a whole stack ends with it, unless it is in C or there were too many frames
    if of.library and frames[-1].partition(" (")[0].rpartition(".")[2] != of.library.rpartition(".")[2]:
        yield of.library
    if of.state != "computing" and of.state:
        yield f"({doing(of.state)})"
