"""Writes the result of `why` as sentences with numbers, for terminals, pages and alerts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...format import count, duration, percent, plural, printable
from ..names import shown
from ..statistics.blocks import FEWEST, Tested
from .answer import Why
from .causes import process, singles, waits
from .causes import sentences as of_causes
from .causes.cause import Cause, everything_is_slower
from .causes.other_side import find as other_side
from .dimensions.mix import is_most_of
from .durations import Durations
from .finding import Finding
from .reading import Reading
from .wording import signed

_LEADING = 0.5


@dataclass(frozen=True)
class Looked:
    """What the findings come from, beside the fields of the answer."""

    reading: Reading
    took: Durations
    calls: Tested | None
    """The test of the calls alone, each at its usual time; None where it does not matter."""
    causes: Sequence[Cause]
    by_dimension: Sequence[Finding]
    """Mix, values, servers that fail, and what changed at the same time."""


def write(answer: Why, looked: Looked) -> Why:
    """Return the answer with its findings and their sentences; the headline is the first of them."""
    findings = (_whole(answer, looked), *_findings(answer, looked))
    sentences = tuple(each.sentence for each in findings)
    leading = next((at for at, each in enumerate(findings, 1) if each.about in ("component", "machine", "single")), 2)
    leading += [each.about for each in findings[leading : leading + 1]] == ["other_side"]
    return replace(answer, headline=" ".join(sentences[:leading]), sentences=sentences, findings=findings)


def _whole(answer: Why, looked: Looked) -> Finding:
    numbers = {f"{name}_mean_ns": getattr(answer, name).mean_ns for name in ("usual", "slow")}
    return Finding(
        "whole",
        headline(answer, looked.took.typical),
        answer.difference_ns,
        answer.low_ns,
        answer.high_ns,
        answer.p_value,
        evidence=looked.reading.evidence("whole", numbers),
    )


def _findings(answer: Why, looked: Looked) -> Iterator[Finding]:
    """In the order of what people act on: other transactions, few transactions, where the time went, and the rest."""
    verdict, waiting = answer.verdict, waits.findings(looked.reading)
    tested = [each for each in waiting if each.about == "wait" and verdict in ("different", "selected")]
    before = [each for each in looked.by_dimension if each.about in ("mix", "value")]
    yield from before
    blames = verdict != "chance" and not (answer.mix and is_most_of(answer.mix, answer.typical_ns))
    few = answer.singles if verdict != "chance" else None
    is_first = bool(few and not few.is_chance and abs(few.part_ns) > abs(answer.typical_ns))
    of_few = [singles.finding(few, looked.took, answer.difference_ns, looked.reading, is_first=is_first)] if few else []
    yield from of_few if is_first else ()
    typical = looked.took.typical
    is_typical = verdict == "selected" or not typical or not typical.is_chance or not (few and not few.is_chance)
    if blames and is_typical:
        yield from _of_times(answer, looked, tested)
    yield from () if is_first else of_few
    yield from (each for each in looked.by_dimension if each not in before)
    if verdict == "different" and typical and looked.calls and is_typical:
        yield Finding("calls", of_calls_alone(typical, looked.calls))
    yield from (each for each in waiting if each.about == "queue")


def _of_times(answer: Why, looked: Looked, waiting: Sequence[Finding]) -> Iterator[Finding]:
    """What the time went to: the process, waits and causes; or everything is slower by one factor."""
    factor, reading = everything_is_slower(answer.components), looked.reading
    inside = process.findings(reading, answer.lines) if answer.verdict in ("different", "selected") else []
    # a wait that is small beside the largest cause is likely its effect
    least_ns = _LEADING * max((each.part.difference_ns for each in looked.causes), default=0)
    leading = [each for each in waiting if (each.part_ns or 0) >= least_ns]
    yield from (*leading, *inside)
    if factor and not leading and not inside:
        yield process.of_machine(reading, factor)
    elif not factor:
        yield from _of_causes(looked, answer)
    yield from (each for each in waiting if each not in leading)


def _of_causes(looked: Looked, answer: Why) -> Iterator[Finding]:
    """Each cause, and right behind it what its server says of it; that is said once."""
    given: set[str] = set()
    of_each = of_causes.findings(looked.reading, looked.causes, answer.lines)
    for cause, finding in zip(looked.causes, of_each, strict=True):
        yield finding
        for each in other_side.findings(looked.reading, [cause]):
            if each.sentence not in given:
                given.add(each.sentence)
                yield each


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
        why = _p(tested) if tested.p_value >= tested.level else "the usual time goes up and down as much by itself"
        return f"{change}: no difference beyond chance ({why})."
    if verdict == "too_few":
        return f"{change}; but with {few_words}, this can be chance."
    return f"{change}: more than chance, but little." if verdict == "small" else f"{change}."


def of_calls_alone(times: Tested, calls: Tested) -> str:
    """The calls prove the difference although the times alone do not."""
    why = _p(times) if times.p_value >= times.level else "they go up and down as much by themselves"
    return f"The times alone could be chance ({why}), the number of calls could not ({_p(calls)})."


def _p(judged: Tested) -> str:
    return "p < 0.001" if judged.p_value < 0.001 else f"p = {judged.p_value:.2g}"
