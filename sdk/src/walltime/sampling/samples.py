"""
The samples of one transaction, and what they add to its bill.

The sampler appends what it saw; the export thread finds names and lines for it, and the component it was in. A sample
in a measured call is left out, because that time has its own row: the calls are known only when they have ended.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from walltime.core.call import LINES, OTHER
from walltime.core.ids import generator
from walltime.errors import guarded
from walltime.sampling import stacks
from walltime.sampling.states import COMPUTING, Clocks, state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from walltime.core.call import Call, Line
    from walltime.sampling.stacks import Frames

MAX_SAMPLES: Final = 600
"""Samples kept one by one, 6 s of them; of a longer transaction, half are dropped and the others count twice."""
MAX_ENTRIES: Final = 64
NOT_IN_A_CALL: Final = "other"
_MEASURED: Final = frozenset({"python.gc", "websocket.receive"})
"""Components without a server that are no part of the application's own code."""


def is_measured(line: Line) -> bool:
    """Say whether the time of these calls is no part of the application's own code."""
    component, target = LINES[line]
    return target is not None or component in _MEASURED


class Sample(NamedTuple):
    """One look at one thread, task or greenlet."""

    at_ns: int
    time_ns: int
    """The time that it stands for."""
    frames: Frames
    """Innermost first."""
    clocks: Clocks | None
    """Of a thread that runs; None for a suspended task or greenlet."""
    state: str = ""
    """Of a suspended one, and of one that was seen too late, in its next call; empty otherwise."""
    is_main: bool = False
    """Whether it is the thread of the transaction itself, not one that works for it."""


class Entry(NamedTuple):
    """One entry on the bill: equal samples are counted."""

    component: str
    line: str
    function: str
    library: str
    state: str
    stack: str


_REST: Final = Entry(NOT_IN_A_CALL, OTHER, "", "", "waiting", "")


class Samples:
    """What was seen of one transaction."""

    __slots__ = ("_components", "_every", "seen")

    def __init__(self) -> None:
        self.seen: list[Sample] = []
        self._every = 1
        self._components: dict[int, str | None] = {}
        """By moment; None in a measured call."""

    def add(self, samples: Iterable[Sample]) -> None:
        """Add what was seen of the transaction in one tick."""
        every = self._every
        if every > 1:
            if generator.random() * every >= 1:
                return
            samples = [sample._replace(time_ns=sample.time_ns * every) for sample in samples]
        self.seen.extend(samples)
        if len(self.seen) > MAX_SAMPLES:
            self._every = every * 2
            kept = {at_ns for at_ns in {sample.at_ns for sample in self.seen} if generator.random() < 0.5}
            self.seen = [each._replace(time_ns=2 * each.time_ns) for each in self.seen if each.at_ns in kept]

    @guarded("sampler")
    def locate(self, calls: Sequence[Call]) -> None:
        """Find the innermost component at the moment of each sample that is in a call."""
        moments = sorted({sample.at_ns for sample in self.seen})
        began: dict[int, int] = {}
        for line, _, started_ns, ended_ns, *_ in calls:
            for at_ns in moments[bisect_left(moments, started_ns) : bisect_right(moments, ended_ns)]:
                if began.get(at_ns, 0) <= started_ns:
                    began[at_ns] = started_ns
                    self._components[at_ns] = None if is_measured(line) else LINES[line].component

    @guarded("sampler", dict)
    def table(self) -> dict[Entry, list[int]]:
        """Return the number of samples and the time they stand for, by entry; after `locate`."""
        at_once: dict[int, list[Sample]] = defaultdict(list)
        for sample in self.seen:
            at_once[sample.at_ns].append(sample)
        table: dict[Entry, list[int]] = {}
        for at_ns, samples in at_once.items():
            component = self._components.get(at_ns, NOT_IN_A_CALL)
            if component is None:
                continue
            decisive = _decisive(samples)
            for sample, state in decisive:
                where = stacks.where(sample.frames)
                entry = Entry(component, where.line, where.function, where.library, state, where.stack)
                if entry not in table and len(table) >= MAX_ENTRIES - 1:
                    entry = _REST
                sums = table.setdefault(entry, [0, 0])
                sums[0] += 1
                sums[1] += sample.time_ns // len(decisive)
        return table


def _decisive(samples: list[Sample]) -> list[tuple[Sample, str]]:
    """
    Return the samples of one moment that say what the transaction did, with their states.

    These are the threads that compute; if all wait, its own thread, then the others before suspended tasks.
    """
    states = [
        (sample, sample.state if sample.clocks is None else state_of(sample.frames, sample.clocks))
        for sample in samples
    ]
    if len(states) == 1:
        return states
    computing = [each for each in states if each[1] in COMPUTING]
    main = [each for each in states if each[0].is_main]
    return computing or main or [each for each in states if each[0].clocks is not None] or states
