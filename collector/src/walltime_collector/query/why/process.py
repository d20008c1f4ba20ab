"""Causes inside the process: the garbage collector, a busy interpreter (the GIL), and lines of the application."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import hypot, sqrt
from typing import cast

from ...clickhouse.engine import Engine, Parameter
from ...format import duration, percent, printable, uncertain
from ..queries import Row, run
from ..sampling import COMPUTING, REST, doing
from ..scope import MINUTE_S
from ..windows import Comparison, Window
from .answer import Contribution, Population, SampledLine
from .cause import pace
from .waits import grew_ns
from .wording import joined, number, signed

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
MAX_LINES = 200
_BEYOND_CHANCE = 4.0
"""Standard errors: less than once in 15,000 lines by chance."""
_FEWEST = 5
"""Samples."""
_NAMED = 0.2
"""Of the component's difference; smaller lines are not in the sentence."""
_MOST_NAMED = 3
_HALF, _ONE_STATE = 0.5, 0.8
_TENTHS = ("", "", "two", "three", "four", "half", "six", "seven", "eight", "nine", "all")


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


def of_other(part: Contribution, usual: Population, slow: Population, code: str = "", *, are_calls_slower: bool) -> str:
    """
    The time in no measured call: computing, waiting, or both.

    Args:
        code: The lines that it comes from, where samples tell.
    """
    before, now = duration(part.usual.mean_ns), duration(part.slow.mean_ns)
    words = f"other, in no measured call: {before} → {now}, {signed(part.difference_ns)}"
    if code:
        return f"{words}, {code}."
    if usual.cpu_ns is None or slow.cpu_ns is None or not part.difference_ns:
        return f"{words}."
    cpu_ns = slow.cpu_ns - usual.cpu_ns
    words += f"; CPU time changed by {signed(cpu_ns)}"
    if cpu_ns >= 0.7 * part.difference_ns if part.difference_ns > 0 else cpu_ns <= 0.7 * part.difference_ns:
        return f"{words}, so this is computing."
    wait_ns = grew_ns(usual.cpu_wait_ns, slow.cpu_wait_ns)
    waiting = f"waiting that is not measured (a lock, a sleep, the GIL{'' if wait_ns is not None else ', a busy CPU'})"
    if wait_ns is not None and wait_ns >= 0.7 * abs(part.difference_ns - max(cpu_ns, 0)):
        waiting = "waiting for a CPU"
    # a sleep makes no call slower; who computes more waits longer for a CPU, and so do the others
    is_notable = cpu_ns > (_LEAST_COMPUTED_NS if are_calls_slower else _PARTLY * part.difference_ns)
    is_computing = part.difference_ns > 0 and is_notable and cpu_ns > _MUCH_MORE * usual.cpu_ns
    partly = "computing and " if is_computing or cpu_ns / part.difference_ns > 0.3 else ""
    return f"{words}, so this is {partly}{waiting}."


def sampled_line(row: Row, usual_transactions: int, slow_transactions: int) -> SampledLine:
    """One row of the answer: means per transaction, and the standard error of their difference."""
    usual_ns, slow_ns = row["usual_ns"] / usual_transactions, row["slow_ns"] / slow_transactions
    variance = row["usual_squares"] / usual_transactions**2 + row["slow_squares"] / slow_transactions**2
    names = (row["component"], row["line"], row["function"], row["state"])
    samples = int(row["usual_samples"]), int(row["slow_samples"])
    return SampledLine(*names, *samples, usual_ns, slow_ns, slow_ns - usual_ns, sqrt(variance))


def is_beyond_chance(of: SampledLine) -> bool:
    """Whether it takes more or less time than usual, as far as its samples tell."""
    samples = of.usual_samples + of.slow_samples
    return samples >= _FEWEST and abs(of.difference_ns) > _BEYOND_CHANCE * of.error_ns


def in_lines(part: Contribution, lines: Sequence[SampledLine]) -> str:
    """
    `computing, nine tenths of it in `shop/serializers.py:88 to_json` (5.50 ± 0.61 ms)`; empty if no line tells.

    Functions are named where single lines are less than half of the difference.
    """
    mine = [each for each in lines if each.component == part.component]
    pulling = _pulling(part, _merged(mine))
    if sum(each.difference_ns for each in pulling) / part.difference_ns < _HALF:
        functions = [replace(each, line=each.line.rpartition(":")[0]) for each in mine if each.function]
        pulling = _pulling(part, _merged([each for each in functions if each.line])) or pulling
    if not pulling:
        return ""
    states = {each.state for each in _most_of(pulling)}
    named = joined(_named(each, part, with_state=len(states) > 1) for each in pulling)
    return f"{doing(*states)}, {named}" if len(states) == 1 else named


def _pulling(part: Contribution, lines: Sequence[SampledLine]) -> list[SampledLine]:
    """Those with a good part of the difference, beyond chance."""
    sign = 1 if part.difference_ns > 0 else -1
    least_ns = _NAMED * abs(part.difference_ns)
    pulling = [each for each in lines if each.difference_ns * sign >= least_ns and is_beyond_chance(each)]
    return sorted(pulling, key=lambda each: -abs(each.difference_ns))[:_MOST_NAMED]


def _merged(lines: Sequence[SampledLine]) -> list[SampledLine]:
    """Lines of the same place as one: who computes also waits for a CPU or the GIL. It has the state of most of it."""
    merged: dict[tuple[str, str, str], SampledLine] = {}
    for each in sorted(lines, key=lambda each: -abs(each.difference_ns)):
        key = each.line, each.function, "" if each.state in COMPUTING else each.state
        merged[key] = _added(merged[key], each) if key in merged else each
    return list(merged.values())


def _added(one: SampledLine, two: SampledLine) -> SampledLine:
    return replace(
        one,
        usual_samples=one.usual_samples + two.usual_samples,
        slow_samples=one.slow_samples + two.slow_samples,
        difference_ns=one.difference_ns + two.difference_ns,
        error_ns=hypot(one.error_ns, two.error_ns),
    )


def _most_of(lines: Sequence[SampledLine]) -> Iterator[SampledLine]:
    """Those that have most of the difference of all."""
    whole_ns = sum(abs(each.difference_ns) for each in lines)
    passed_ns = 0.0
    for each in sorted(lines, key=lambda each: -abs(each.difference_ns)):
        if passed_ns >= _ONE_STATE * whole_ns:
            return
        passed_ns += abs(each.difference_ns)
        yield each


def _named(of: SampledLine, part: Contribution, *, with_state: bool) -> str:
    where = printable(f"{of.line} {of.function}") if of.line not in ("", REST) else ""
    place = f"in `{where}`" if where else "in no line of the application"
    share = min(of.difference_ns / part.difference_ns, 1.0)
    estimate = uncertain(abs(of.difference_ns), of.error_ns)
    return f"{_part(share)} {place} ({estimate}{', ' + doing(of.state) if with_state else ''})"


def _part(share: float) -> str:
    tenths = round(10 * share)
    if tenths == 10:
        return "all of it"
    return "half of it" if tenths == 5 else f"{_TENTHS[tenths]} tenths of it"


def _length_ns(window: Window, minutes: Sequence[int]) -> int:
    """Of the window, or of the minutes of it that are compared."""
    minute_ns = MINUTE_S * NS
    inside = (min(window.end_ns, at * NS + minute_ns) - max(window.start_ns, at * NS) for at in minutes)
    return sum(max(each, 0) for each in inside) if minutes else window.end_ns - window.start_ns
