"""Causes inside the process: the garbage collector, the interpreter (GIL), computing, lines of the application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....conversion import from_row
from ....format import duration, percent, printable, uncertain
from ...queries import Row
from ...sampling import REST, doing
from ...statistics import CHANCE, SUPPORT
from ...statistics.estimates import difference
from ...statistics.multiple import holm
from ..answer import Contribution, SampledLine
from ..finding import Finding
from ..reading import Reading
from ..wording import as_long, joined, number, signed
from .waits import KNOWN, numbers, waited

GC = "python.gc"
MAX_LINES = 200
_BUSY = 0.45
"""Of the time of a transaction, by the others of its process: two that compute have half of it each."""
_BUSIER, _LEAST_BUSIER = 1.3, 0.1
_MOST_AT_A_TIME = 1.3
"""CPUs: who computes on more of them does so without the GIL. CPU time counts as spread evenly, so not just 1."""
_SHARED = 1.5
_FEW_ON_LOOPS = 0.1
_SLOWER, _FEWEST_COMPONENTS = 1.25, 2
_NOTABLE, _HALF = 0.1, 0.5
_FEWEST = 5
"""Samples."""
_NAMED, _MOST_NAMED = 0.2, 3
"""Of the component's difference; smaller lines are not in the sentence."""


def findings(reading: Reading, lines: Sequence[SampledLine]) -> list[Finding]:
    """
    Causes for which calls to all servers wait: the garbage collector and the interpreter.

    CPU time outside of transactions is not known, so a thread that computes in the background is not seen.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    has_garbage = any(each.component == GC and each.difference_ns > 0 for each in reading.components)
    has_waited = any(each.state == "gil" and each.p_value < CHANCE for each in lines)
    paces = [each.pace or 0 for each in reading.components if each.component != GC]
    are_calls_slower = sum(each >= _SLOWER for each in paces) >= _FEWEST_COMPONENTS
    if not reading.is_different or reading.difference_ns <= 0 or not (has_garbage or has_waited or are_calls_slower):
        return []
    # of one time, the processes are the same on both sides
    shared = None if reading.compared.is_of_one_window else reading.sides("interpreter")
    words = "The garbage collector: {change}"
    if shared and (running := shared[1]["at_a_time"]) >= _SHARED:
        words += f", and it stops all threads of the process, in which {number(running)} transactions run at a time,"
        words += " so calls wait for it too"
    garbage = _of_wait(reading, "garbage", GC, f"{words}.") if has_garbage else None
    words = "The interpreter (GIL): by samples of their stacks they wait for it {change}."
    interpreter = _of_wait(reading, "interpreter_wait", "GIL", words) if has_waited else None
    if are_calls_slower and shared and not interpreter:
        interpreter = _of_computing(reading, *shared)
    return [each for each in (garbage, interpreter) if each]


def _of_wait(reading: Reading, query: str, subject: str, words: str) -> Finding | None:
    wait = waited(reading, query)
    if not wait or not wait.is_notable(reading):
        return None
    return wait.finding(reading, words.format(change=wait.change), subject, "process")


def _of_computing(reading: Reading, usual: Row, slow: Row) -> Finding | None:
    """Where transactions of a process overlap in time, and the others compute meanwhile."""
    is_enough = min(usual["transactions"], slow["transactions"]) >= SUPPORT and slow["on_loop_share"] <= _FEW_ON_LOOPS
    busier = max(_BUSY, _BUSIER * usual["others"], usual["others"] + _LEAST_BUSIER)
    if not is_enough or slow["others"] < busier or slow["others"] + slow["own"] > _MOST_AT_A_TIME:
        return None
    words = f"The interpreter (GIL): while one ran, the others in its process computed {percent(slow['others'])} of the"
    words += f" time instead of {percent(usual['others'])}, one thread at a time, so calls wait for it too."
    evidence = reading.evidence("interpreter", numbers(usual, slow, "others"))
    return Finding("process", words, subject="GIL", evidence=evidence)


def of_machine(reading: Reading, factor: float) -> Finding:
    """All parts changed by about the same factor."""
    usual_ns, slow_ns = reading.usual.cpu_ns, reading.slow.cpu_ns
    words = f"Everything alike takes {as_long(factor)}: rather the machine, or what else runs on it, than one server"
    words += " or statement."
    if usual_ns and slow_ns is not None and factor > 1:
        grew = (slow_ns / usual_ns - 1) / (factor - 1)
        words += f" Its CPU time: {duration(usual_ns)} → {duration(slow_ns)}"
        if grew >= _HALF:
            words += ", as if the CPU is slower, beside a busy neighbour, or there is more to compute"
        elif abs(grew) < _NOTABLE:
            words += ": it waits, for a CPU, for a thread that computes, or for all servers alike"
        words += "."
    means_ns = {"usual_typical_ns": reading.usual.mean_ns, "slow_typical_ns": reading.slow.mean_ns}
    evidence = reading.evidence("whole", means_ns)
    return Finding("machine", words, reading.difference_ns, subject="machine", evidence=evidence)


def of_other(reading: Reading, part: Contribution, lines: Sequence[SampledLine]) -> Finding:
    """The time in no measured call: computing, waiting, or both, as far as samples or bounds of its CPU time tell."""
    before, now = duration(part.usual.mean_ns), duration(part.slow.mean_ns)
    words = f"other, in no measured call: {before} → {now}, {signed(part.difference_ns)}"
    both = reading.sides("computing")
    evidence = reading.evidence("computing", numbers(*both, "outside_ns", "cpu_ns")) if both else None
    if code := in_lines(part, lines):
        words += f", {code}"
    elif both and min(each["known"] for each in both) >= KNOWN:
        whole_ns = both[1]["outside_ns"] - both[0]["outside_ns"]
        if abs(whole_ns - part.difference_ns) < _NOTABLE * abs(whole_ns):  # else the mix makes another part of it
            words += f"; CPU time changed by {signed(both[1]['cpu_ns'] - both[0]['cpu_ns'])}, "
            words += _split(reading, *both, whole_ns)
    return Finding("component", f"{words}.", part.difference_ns, subject="other", evidence=evidence)


def _split(reading: Reading, usual: Row, slow: Row, whole_ns: float) -> str:
    """
    What of the difference of `other` is computing, and whether most is waiting.

    Calls compute more than usual for at most as long as they take longer.
    """
    sign = 1 if whole_ns > 0 else -1
    half_ns, notable_ns = _HALF * abs(whole_ns), _NOTABLE * abs(whole_ns)
    calls_ns = sum(max(sign * each.difference_ns, 0) for each in reading.components if each.component != "other")
    least_ns, most_ns = _bounds(usual, slow, "cpu", sign)
    least_ns = min(max(least_ns, sign * (slow["cpu_ns"] - usual["cpu_ns"]) - calls_ns), most_ns)
    computing = f"at least {duration(least_ns)} of it in no call that takes {'longer' if sign > 0 else 'less'}"
    if least_ns >= half_ns:
        return f"{computing}, so this is computing"
    if most_ns > half_ns:
        once, now = (f"{duration(row['cpu_least_ns'])} to {duration(row['cpu_most_ns'])}" for row in (usual, slow))
        return f"somewhere in the transaction: of `other`, {once} → {now} were computing"
    words = f"{computing}, so this is computing and " if least_ns > notable_ns else "so this is "
    is_measured = min(usual["wait_known"], slow["wait_known"]) >= KNOWN
    wait_ns, most_wait_ns = _bounds(usual, slow, "wait", sign)
    if is_measured and wait_ns >= half_ns:
        return f"{words}waiting for a CPU"
    reasons = ["a lock", "a sleep", "the GIL"]
    measured = ["a busy CPU"] if is_measured and most_wait_ns > notable_ns else []
    measured += ["a busy event loop"] if _bounds(usual, slow, "loop", sign)[1] > notable_ns else []
    words += "waiting" if measured else "waiting that is not measured"
    return f"{words} ({', '.join(reasons + measured + ([] if is_measured else ['a busy CPU']))})"


def _bounds(usual: Row, slow: Row, what: str, sign: int) -> tuple[float, float]:
    """The least and the most by which this part of `other` changed, in the direction of `sign`."""
    ends_ns = slow[f"{what}_least_ns"] - usual[f"{what}_most_ns"], slow[f"{what}_most_ns"] - usual[f"{what}_least_ns"]
    return ends_ns if sign > 0 else (-ends_ns[1], -ends_ns[0])


def sampled_lines(rows: Sequence[Row], usual: int, slow: int) -> tuple[SampledLine, ...]:
    """
    The answer's lines, from queries/why/sampled_lines.sql and the numbers of transactions.

    Samples of one transaction belong together, so the squares of its time are the variance (see sampling.py).
    """
    lines, p_values = [], []
    for row in rows:
        usual_ns, slow_ns = row["usual_ns"] / usual, row["slow_ns"] / slow
        more = difference((usual_ns, row["usual_squares"] / usual, usual), (slow_ns, row["slow_squares"] / slow, slow))
        times_ns = {"usual_ns": usual_ns, "slow_ns": slow_ns, "difference_ns": more.size, "error_ns": more.error}
        lines.append(from_row(SampledLine, row, **times_ns))
        p_values.append(more.p_value if lines[-1].usual_samples + lines[-1].slow_samples >= _FEWEST else 1.0)
    corrected = holm(p_values, int(rows[0]["looked_at"]) if rows else 0)
    return tuple(replace(line, p_value=p_value) for line, p_value in zip(lines, corrected, strict=True))


def in_lines(part: Contribution, lines: Sequence[SampledLine]) -> str:
    """
    `computing, 90 % of it in `shop/serializers.py:88 to_json` (5.50 ± 0.61 ms)`; empty if no line tells.

    Functions are named where single lines are less than half of the difference.
    """
    pulling = _pulling(part, [each for each in lines if not each.is_function])
    if sum(each.difference_ns for each in pulling) / part.difference_ns < _HALF:
        pulling = _pulling(part, [each for each in lines if each.is_function]) or pulling
    if not pulling:
        return ""
    states = {each.state for each in pulling}
    named = joined(_named(each, part, with_state=len(states) > 1) for each in pulling)
    return f"{doing(*states)}, {named}" if len(states) == 1 else named


def _pulling(part: Contribution, lines: Sequence[SampledLine]) -> list[SampledLine]:
    """Those with a good part of the difference, beyond chance."""
    sign = 1 if part.difference_ns > 0 else -1
    least_ns = _NAMED * abs(part.difference_ns)
    mine = [each for each in lines if each.component == part.component and each.p_value < CHANCE]
    pulling = [each for each in mine if each.difference_ns * sign >= least_ns]
    return sorted(pulling, key=lambda each: -abs(each.difference_ns))[:_MOST_NAMED]


def _named(of: SampledLine, part: Contribution, *, with_state: bool) -> str:
    where = printable(f"{of.line} {of.function}") if of.line not in ("", REST) else ""
    place = f"in `{where}`" if where else "in no line of the application"
    share = percent(round(min(of.difference_ns / part.difference_ns, 1.0), 1))
    estimate = uncertain(abs(of.difference_ns), of.error_ns)
    part_of_it = "all of it" if share == percent(1) else f"{share} of it"
    return f"{part_of_it} {place} ({estimate}{', ' + doing(of.state) if with_state else ''})"
