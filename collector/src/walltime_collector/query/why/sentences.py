"""Writes the result of `why` as sentences with numbers, for terminals, pages and alerts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...format import count, duration, percent, plural, printable, share
from ..names import shown
from . import statuses
from .answer import Contribution, Population, Sampled, StatusClass, Verdict, Why
from .cause import Cause, everything_is_slower, failing
from .cause_sentences import failures
from .chance import CHANCE, FEWEST, Chance, Judged
from .dimension_sentences import of_dimensions
from .finding import Finding
from .process import BUSY, Process, of_process
from .wording import as_long, signed

_SHORT_QUEUE_NS = 1_000_000
_MAX_STATUSES = 3
_MAX_FAILING = 3
_ALSO = 0.5


@dataclass(frozen=True)
class Evidence:
    """What the sentences need beside the fields of the answer."""

    judged: Judged | None
    """Whether chance explains the difference; None when this was not tested."""
    causes: Sequence[Cause]
    findings: Sequence[Finding]
    """Of these causes."""
    process: Process | None
    """How busy the processes were, if that is known."""
    waits: Sequence[str]
    """The sentences about waiting for a CPU or the event loop that come before the causes."""
    lesser_waits: Sequence[str]
    """Those that come after the causes."""


def write(answer: Why, evidence: Evidence) -> Why:
    """Return the answer with its sentences; the headline is the first of them."""
    usual, slow, verdict = answer.usual, answer.slow, answer.verdict
    mixed = answer.statuses if answer.is_mix_changed else ()
    dimensions = of_dimensions(
        answer.dimensions, answer.difference_ns, _slow_part(answer), without="status" if mixed else ""
    )
    times = evidence.judged.times if evidence.judged else None
    first = headline(shown(answer.name), verdict, times, usual, slow, answer.sampled, answer.when)
    written = [first, *dimensions]
    if mixed:
        written.append(of_statuses(mixed, answer.difference_ns))
    if verdict != "chance" and not (mixed and statuses.is_all_of_it(mixed, answer.difference_ns)):
        written += _of_times(answer, evidence)
    carrying = {each.part.component for each in evidence.causes} if verdict != "chance" else set()
    failed = [each for each in failing(answer.targets)[:_MAX_FAILING] if each.component not in carrying]
    written += map(of_failing, failed)
    if evidence.judged and verdict == "different" and evidence.judged.times.explains_it:
        written.append(of_calls_alone(evidence.judged.times, evidence.judged.calls))
    written = [each for each in [*written, of_queue(usual, slow)] if each]
    leading = 2 + bool(dimensions) + len(evidence.waits)
    return replace(answer, headline=" ".join(written[:leading]), sentences=tuple(written))


def _of_times(answer: Why, evidence: Evidence) -> Iterator[str]:
    """What the time went to: the process, waits and causes; or everything is slower by one factor."""
    factor = everything_is_slower(answer.components)
    # a slower CPU makes the process busier too, but everything slower by one factor
    is_machine = factor and evidence.process and evidence.process.slow_busy < BUSY
    inside = [*evidence.waits, *of_process(answer.components, None if is_machine else evidence.process)]
    yield from inside
    if factor and not inside:
        yield of_everything(factor, answer.usual, answer.slow)
    elif not factor:
        yield from (each.sentence for each in evidence.findings)
    yield from evidence.lesser_waits


def _slow_part(answer: Why) -> str:
    """What the slow side is called when both sides are of one time."""
    if answer.when:
        return "of those that match"
    return "" if answer.slowest_percent is None else "of the slowest"


def headline(
    name: str,
    verdict: Verdict,
    judged: Chance | None,
    usual: Population,
    slow: Population,
    sampled: Sampled | None = None,
    when: str = "",
) -> str:
    """Both means, of a sample those of all where they are known; and whether their difference is more than chance."""
    now_ns = (sampled and sampled.slow_mean_ns) or slow.mean_ns
    before_ns = (sampled and sampled.usual_mean_ns) or usual.mean_ns
    now, before, difference = duration(now_ns), duration(before_ns), signed(now_ns - before_ns)
    few = f"{plural(slow.transactions, 'transaction')} against {count(usual.transactions)}"
    if verdict == "selected":
        part = percent(slow.transactions / (slow.transactions + usual.transactions))
        chosen = f"{name}: the slowest {part} take {now}, the others {before} ({difference})"
        is_few = min(usual.transactions, slow.transactions) < FEWEST
        return f"{chosen}; but with {few}, what these have in common can be chance." if is_few else f"{chosen}."
    change = f"{name}: {before} → {now} ({difference})"
    if when:
        change = f"{name}: those with {printable(when)} take {now}, the others {before} ({difference})"
    if verdict == "chance" and judged:
        why = _p(judged) if judged.p_value >= CHANCE else "the usual time goes up and down as much by itself"
        return f"{change}: no difference beyond chance ({why})."
    if verdict == "too_few":
        return f"{change}; but with {few}, this can be chance."
    if verdict == "small":
        return f"{change}: more than chance, but little."
    return f"{change}."


def of_everything(factor: float, usual: Population, slow: Population) -> str:
    """All parts changed by about the same factor."""
    words = f"Everything alike takes {as_long(factor)}: rather the machine, or what else runs on it, than one server"
    words += " or statement."
    if usual.cpu_ns is None or slow.cpu_ns is None or factor < 1:
        return words
    change = f"{duration(usual.cpu_ns)} → {duration(slow.cpu_ns)}"
    if slow.cpu_ns - usual.cpu_ns >= _ALSO * (factor - 1) * usual.cpu_ns:
        return f"{words} Its CPU time grew as well ({change}): the CPU is slower, as beside a busy neighbour."
    waits = "threads wait for a CPU (too many of them, or a CPU limit that throttles) or for a thread that computes"
    return f"{words} Its CPU time hardly changed ({change}): {waits}."


def of_failing(target: Contribution) -> str:
    """A server on which more calls fail than usual."""
    return f"{target.component} on {target.address}: {failures(target)}."


def of_calls_alone(times: Chance, calls: Chance) -> str:
    """The calls prove the difference although the times alone do not."""
    why = _p(times) if times.p_value >= CHANCE else "they go up and down as much by themselves"
    return f"The times alone could be chance ({why}), the number of calls could not ({_p(calls)})."


def of_queue(usual: Population, slow: Population) -> str:
    """The time in the queue, when it changed; otherwise nothing."""
    if usual.queue_ns is None or slow.queue_ns is None:
        return ""
    if abs(slow.queue_ns - usual.queue_ns) < max(0.1 * usual.mean_ns, _SHORT_QUEUE_NS):
        return ""
    now, before = duration(slow.queue_ns), duration(usual.queue_ns)
    return f"Before they began they queued for {now} instead of {before}, which is no part of these times."


def of_statuses(classes: Sequence[StatusClass], difference_ns: float) -> str:
    """How the mix of statuses changed, its part of the difference, and the rest of it."""
    changed = sorted(classes, key=lambda each: -abs(each.slow_share - each.usual_share))[:_MAX_STATUSES]
    shares = ", ".join(f"{each.status} {share(each.usual_share)} → {share(each.slow_share)}" for each in changed)
    mix, same = statuses.mix_ns(classes), statuses.like_with_like_ns(classes)
    words = f"The mix of statuses changed: {shares}. This makes {signed(mix)} of the {signed(difference_ns)}"
    return f"{words}; like with like, each status compared with itself, the difference is {signed(same)}."


def _p(judged: Chance) -> str:
    return "p < 0.001" if judged.p_value < 0.001 else f"p = {judged.p_value:.2g}"
