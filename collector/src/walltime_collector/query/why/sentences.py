"""Writes the result of `why` as sentences with numbers, for terminals, pages and alerts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...format import count, duration, percent, plural, printable, share
from ..names import shown
from ..statistics import CHANCE
from ..statistics.blocks import FEWEST, Tested
from . import singles, statuses
from .answer import Contribution, Population, StatusClass, Why
from .cause import Cause, everything_is_slower, failing
from .cause_sentences import failures, of_causes
from .dimension_sentences import of_dimensions
from .durations import Durations
from .finding import Finding
from .process import BUSY, Process, is_slower_everywhere, of_process
from .reading import Reading
from .wording import as_long, signed

_SHORT_QUEUE_NS = 1_000_000
_MAX_STATUSES = 3
_MAX_FAILING = 3
_ALSO = 0.5


@dataclass(frozen=True)
class Judged:
    """The tests; None where a side is too small, or chosen, or where it does not matter."""

    typical: Tested | None
    """Of the times without single transactions."""
    calls: Tested | None
    """Of the calls alone, each at its usual time."""
    singles: Tested | None
    """Of the share of single transactions."""


@dataclass(frozen=True)
class Looked:
    """What the findings come from, beside the fields of the answer."""

    reading: Reading
    took: Durations
    judged: Judged
    causes: Sequence[Cause]
    process: Process | None
    """How busy the processes were, if that is known."""
    waits: Sequence[str]
    """The sentences about waiting for a CPU or the event loop that come before the causes."""
    lesser_waits: Sequence[str]
    """Those that come after the causes."""


def write(answer: Why, looked: Looked) -> Why:
    """Return the answer with its findings and their sentences; the headline is the first of them."""
    findings = tuple(_findings(answer, looked))
    first = headline(answer, looked.judged.typical)
    sentences = (first, *(each.sentence for each in findings))
    leading = next((at for at, each in enumerate(findings, 2) if each.about in ("component", "machine", "single")), 2)
    return replace(answer, headline=" ".join(sentences[:leading]), sentences=sentences, findings=findings)


def _findings(answer: Why, looked: Looked) -> Iterator[Finding]:
    """In the order of what people act on: other transactions, few transactions, where the time went, and the rest."""
    usual, slow, verdict = looked.reading.usual, looked.reading.slow, answer.verdict
    mixed = answer.statuses if answer.is_mix_changed and verdict != "chance" else ()
    without = "status" if mixed else ""
    values = of_dimensions(answer.dimensions, answer.typical_ns, _slow_part(answer), without=without)
    yield from (Finding("value", each) for each in values)
    if mixed:
        yield Finding("mix", of_statuses(mixed, answer.typical_ns), statuses.mix_ns(mixed))
    few, is_first = answer.singles if verdict != "chance" else None, False
    if few:
        is_first = not few.is_chance and abs(few.part_ns) > abs(answer.typical_ns)
        of_few = singles.finding(few, looked.took, answer.difference_ns, looked.reading.params, is_first=is_first)
    if few and is_first:
        yield of_few
    typical = looked.judged.typical
    is_typical = verdict == "selected" or not typical or not typical.is_chance or not (few and not few.is_chance)
    if verdict != "chance" and is_typical and not (mixed and statuses.is_all_of_it(mixed, answer.typical_ns)):
        yield from _of_times(answer, looked)
    if few and not is_first:
        yield of_few
    carrying = {each.part.component for each in looked.causes} if verdict != "chance" else set()
    failed = [each for each in failing(answer.targets)[:_MAX_FAILING] if each.component not in carrying]
    yield from (Finding("servers", of_failing(each), subject=f"{each.component} {each.address}") for each in failed)
    if verdict == "different" and typical and looked.judged.calls and is_typical:
        yield Finding("calls", of_calls_alone(typical, looked.judged.calls))
    if words := of_queue(usual, slow):
        yield Finding("queue", words)


def _of_times(answer: Why, looked: Looked) -> Iterator[Finding]:
    """What the time went to: the process, waits and causes; or everything is slower by one factor."""
    factor, usual, slow = everything_is_slower(answer.components), looked.reading.usual, looked.reading.slow
    # a slower CPU makes the process busier too, but everything slower by one factor
    is_machine = factor and looked.process and looked.process.slow_busy < BUSY
    inside = [Finding("wait", each) for each in looked.waits]
    inside += [
        Finding("process", each) for each in of_process(answer.components, None if is_machine else looked.process)
    ]
    yield from inside
    if factor and not inside:
        yield Finding("machine", of_everything(factor, usual, slow))
    elif not factor:
        are_calls_slower = is_slower_everywhere(answer.components)
        for words in of_causes(looked.causes, usual, slow, answer.lines, are_calls_slower=are_calls_slower):
            yield Finding("component", words)
    yield from (Finding("wait", each) for each in looked.lesser_waits)


def _slow_part(answer: Why) -> str:
    """What the slow side is called when both sides are of one time."""
    if answer.when:
        return "of those that match"
    return "" if answer.slowest_percent is None else "of the slowest"


def headline(answer: Why, tested: Tested | None) -> str:
    """Both means, of a sample those of all where they are known; and whether their difference is more than chance."""
    usual, slow, sampled = answer.usual, answer.slow, answer.sampled
    now_ns = (sampled and sampled.slow_mean_ns) or slow.mean_ns
    before_ns = (sampled and sampled.usual_mean_ns) or usual.mean_ns
    typically = ""
    if few := answer.singles:
        means = f"; with single very long transactions {duration(before_ns)} → {duration(now_ns)}"
        now_ns, before_ns, typically = slow.mean_ns - few.slow_ns, usual.mean_ns - few.usual_ns, "typically "
    now, before = duration(now_ns), duration(before_ns)
    difference = f"({signed(now_ns - before_ns)})"
    name, verdict = shown(answer.name), answer.verdict
    change = f"{name}: {typically}{before} → {now} {difference}"
    if verdict == "selected":
        part = percent(slow.transactions / (slow.transactions + usual.transactions))
        change = f"{name}: the slowest {part} {typically}take {now}, the others {before} {difference}"
    elif answer.when:
        change = f"{name}: those with {printable(answer.when)} {typically}take {now}, the others {before} {difference}"
    change += means if typically else ""
    few_words = f"{plural(slow.transactions, 'transaction')} against {count(usual.transactions)}"
    if verdict == "selected" and min(usual.transactions, slow.transactions) < FEWEST:
        return f"{change}; but with {few_words}, what these have in common can be chance."
    if verdict == "chance" and tested:
        why = _p(tested) if tested.p_value >= CHANCE else "the usual time goes up and down as much by itself"
        return f"{change}: no difference beyond chance ({why})."
    if verdict == "too_few":
        return f"{change}; but with {few_words}, this can be chance."
    return f"{change}: more than chance, but little." if verdict == "small" else f"{change}."


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


def of_calls_alone(times: Tested, calls: Tested) -> str:
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


def _p(judged: Tested) -> str:
    return "p < 0.001" if judged.p_value < 0.001 else f"p = {judged.p_value:.2g}"
