"""Causes inside the process, which slow every call down: the garbage collector, and a busy interpreter (the GIL)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ...clickhouse.engine import Engine, Parameter
from ...format import duration, percent
from ..queries import run
from ..scope import MINUTE_S
from ..windows import Comparison, Window
from .answer import Contribution, Population
from .cause import pace
from .wording import number, signed

GC = "python.gc"
NS = 1_000_000_000
_NOTABLE_GC = 0.1
BUSY = 0.7
"""Of a CPU."""
_BUSIER = 1.3
_LEAST_BUSIER = 0.1
_SLOWER = 1.25
_FEWEST_COMPONENTS = 2
_LEAST_COMPUTED_NS = 1_000_000
_PARTLY, _MUCH_MORE = 0.1, 0.5
"""CPU time is a cause beside waiting when it grew by so much of the difference, and of the usual CPU time."""


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


def of_process(components: Sequence[Contribution], process: Process | None) -> Iterator[str]:
    """Causes inside the process, for which calls to all servers wait."""
    if part := garbage_collector(components):
        change = f"{duration(part.usual.mean_ns)} → {duration(part.slow.mean_ns)} a transaction"
        yield f"The garbage collector: {change}, and it stops all threads of the process, so calls wait for it too."
    if process and is_interpreter_busy(process):
        busy = f"{percent(process.slow_busy)} of the time instead of {percent(process.usual_busy)}"
        words = f"The interpreter (GIL): a process computes {busy}, in one thread at a time, so calls wait for it too."
        if process.slow_busy < BUSY:
            at_a_time = number(process.slow_outside)
            words += f" It gets no whole CPU: {at_a_time} transactions at a time compute, or wait to compute."
        yield words


def of_other(part: Contribution, usual: Population, slow: Population, *, are_calls_slower: bool) -> str:
    """The time in no measured call: computing, waiting, or both."""
    before, now = duration(part.usual.mean_ns), duration(part.slow.mean_ns)
    words = f"other, in no measured call: {before} → {now}, {signed(part.difference_ns)}"
    if usual.cpu_ns is None or slow.cpu_ns is None or not part.difference_ns:
        return f"{words}."
    cpu_ns = slow.cpu_ns - usual.cpu_ns
    words += f"; CPU time changed by {signed(cpu_ns)}"
    if cpu_ns >= 0.7 * part.difference_ns if part.difference_ns > 0 else cpu_ns <= 0.7 * part.difference_ns:
        return f"{words}, so this is computing."
    waiting = "waiting that nobody measures (a lock, a sleep, the GIL, a busy CPU)"
    # a sleep makes no call slower; who computes more waits longer for a CPU, and so do the others
    is_notable = cpu_ns > (_LEAST_COMPUTED_NS if are_calls_slower else _PARTLY * part.difference_ns)
    is_computing = part.difference_ns > 0 and is_notable and cpu_ns > _MUCH_MORE * usual.cpu_ns
    partly = "computing and " if is_computing or cpu_ns / part.difference_ns > 0.3 else ""
    return f"{words}, so this is {partly}{waiting}."


def _length_ns(window: Window, minutes: Sequence[int]) -> int:
    """Of the window, or of the minutes of it that are compared."""
    minute_ns = MINUTE_S * NS
    inside = (min(window.end_ns, at * NS + minute_ns) - max(window.start_ns, at * NS) for at in minutes)
    return sum(max(each, 0) for each in inside) if minutes else window.end_ns - window.start_ns
