"""Causes inside the process, which slow every call down: the garbage collector, and a busy interpreter (the GIL)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ...clickhouse.engine import Engine, Parameter
from ..queries import run
from ..scope import MINUTE_S
from ..windows import Comparison, Window
from .answer import Contribution
from .cause import pace

GC = "python.gc"
NS = 1_000_000_000
_NOTABLE_GC = 0.1
BUSY = 0.7
"""Of a CPU."""
_BUSIER = 1.3
_LEAST_BUSIER = 0.1
_SLOWER = 1.25
_FEWEST_COMPONENTS = 2


@dataclass(frozen=True)
class Process:
    """What the processes that served the transactions did: CPU seconds of all their transactions per second, each."""

    usual_busy: float
    slow_busy: float
    slow_outside: float = 0.0
    """So many transactions are outside of measured calls on average: they compute, or wait to compute."""


def process(
    engine: Engine, params: Mapping[str, Parameter], compared: Comparison, components: Sequence[Contribution]
) -> Process | None:
    """
    How busy the processes were; None when it explains nothing, or is unknown.

    CPU time outside of transactions is not known, so a thread that computes in the background is not in it.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    if compared.slow == compared.usual or not is_slower_everywhere(components):
        return None
    minutes = cast(Sequence[int], params["minutes"])
    lengths = {
        f"{side}_length_ns": _length_ns(window, minutes)
        for side, window in (("usual", compared.usual), ("slow", compared.slow))
    }
    rows = {bool(row["is_slow"]): row for row in run(engine, "why/busy", **params, **lengths)}
    if len(rows) < 2 or None in (rows[False]["busy"], rows[True]["busy"]):
        return None
    return Process(float(rows[False]["busy"]), float(rows[True]["busy"]), float(rows[True]["outside"]))


def garbage_collector(components: Sequence[Contribution]) -> Contribution | None:
    """The pauses of the garbage collector, when they are a good part of the difference."""
    whole_ns = sum(each.difference_ns for each in components)
    for each in components:
        if each.component == GC and whole_ns > 0 and each.difference_ns >= _NOTABLE_GC * whole_ns:
            return each
    return None


def is_interpreter_busy(process: Process) -> bool:
    """
    The threads of the processes compute more than usual, and nearly all the time, or would if they had a CPU.

    A process that gets no whole CPU, for a limit or on a full machine, computes less and has the same wait.
    """
    is_more = process.slow_busy >= max(_BUSIER * process.usual_busy, process.usual_busy + _LEAST_BUSIER)
    return is_more and max(process.slow_busy, process.slow_outside) >= BUSY


def is_slower_everywhere(components: Sequence[Contribution]) -> bool:
    """Calls of several components take longer."""
    paces = [pace(each) for each in components if each.component != GC]
    return sum(each is not None and each >= _SLOWER for each in paces) >= _FEWEST_COMPONENTS


def _length_ns(window: Window, minutes: Sequence[int]) -> int:
    """Of the window, or of the minutes of it that are compared."""
    minute_ns = MINUTE_S * NS
    inside = (min(window.end_ns, at * NS + minute_ns) - max(window.start_ns, at * NS) for at in minutes)
    return sum(max(each, 0) for each in inside) if minutes else window.end_ns - window.start_ns
