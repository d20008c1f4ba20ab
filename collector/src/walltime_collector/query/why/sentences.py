"""Writes the result of `why` as sentences with numbers, for terminals, pages and alerts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...format import count, duration, percent, plural, printable, ratio
from ..names import shown
from .answer import Contribution, Cost, Population, Sampled, SampledLine, Verdict, Why
from .cause import Cause, Lookup, everything_is_slower, fails_more, pace
from .chance import CHANCE, FEWEST, Chance, Judged
from .dimensions.mix import is_most_of
from .finding import Finding
from .process import BUSY, Process, in_lines, is_slower_everywhere, of_other, of_process
from .wording import as_long, joined, number, short, signed, times

_SHORT_QUEUE_NS = 1_000_000
_ALSO = 0.5


@dataclass(frozen=True)
class Evidence:
    """What the sentences need beside the fields of the answer."""

    judged: Judged | None
    """Whether chance explains the difference; None when this was not tested."""
    causes: Sequence[Cause]
    process: Process | None
    """How busy the processes were, if that is known."""
    waits: Sequence[str]
    """The sentences about waiting for a CPU or the event loop that come before the causes."""
    lesser_waits: Sequence[str]
    """Those that come after the causes."""
    findings: Sequence[Finding] = ()
    """Mix, values, servers, circumstances."""


def write(answer: Why, evidence: Evidence) -> Why:
    """Return the answer with its sentences; the headline is the first of them."""
    usual, slow, verdict = answer.usual, answer.slow, answer.verdict
    dimensions = [each.sentence for each in evidence.findings if each.about in ("mix", "value")]
    beside = [each.sentence for each in evidence.findings if each.about not in ("mix", "value")]
    times = evidence.judged.times if evidence.judged else None
    first = headline(shown(answer.name), verdict, times, usual, slow, answer.sampled, answer.when)
    written = [first, *dimensions]
    if verdict != "chance" and not (answer.mix and is_most_of(answer.mix, answer.difference_ns)):
        written += _of_times(answer, evidence)
    written += beside
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
        are_calls_slower = is_slower_everywhere(answer.components)
        yield from of_causes(
            evidence.causes, answer.usual, answer.slow, answer.lines, are_calls_slower=are_calls_slower
        )
    yield from evidence.lesser_waits


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


def of_causes(
    causes: Sequence[Cause],
    usual: Population,
    slow: Population,
    lines: Sequence[SampledLine] = (),
    *,
    are_calls_slower: bool = False,
) -> Iterator[str]:
    """A sentence for each component: what changed, by how much, where, and the reason, which is given once."""
    is_given = False
    for cause in causes:
        code = in_lines(cause.part, lines)
        if cause.part.component == "other":
            yield of_other(cause.part, usual, slow, code, are_calls_slower=are_calls_slower)
        elif cause.part.component == "overlap":
            yield _of_overlap(cause.part)
        else:
            yield _of_component(cause, "for the same reason" if is_given else "", code)
            is_given = is_given or bool(cause.lookups.losing)


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


def _of_component(cause: Cause, reason: str, code: str) -> str:
    part = cause.part
    words = f"{part.component}: {_what(cause)}, {signed(part.difference_ns)}{', ' if code else ''}{code}"
    words += f", {reason or f'because {_lookups(cause)}'}" if cause.lookups.losing else _where(cause)
    return f"{words}; {failures}." if (failures := _failures(part)) else f"{words}."


def _of_overlap(part: Contribution) -> str:
    now, before = duration(-part.slow.mean_ns), duration(-part.usual.mean_ns)
    return f"overlap: calls that ran at the same time saved {now} instead of {before}."


def _what(cause: Cause) -> str:
    part = cause.part
    if cause.has_more_calls and not cause.has_slower_calls:
        return f"{_calls(part)}{_at_speed(part)}"
    return f"{_calls(part)}, and {_speed(part)}" if cause.has_more_calls else _speed(part)


def _calls(part: Contribution) -> str:
    before, now = part.usual.calls_per_transaction, part.slow.calls_per_transaction
    if not before:
        return f"calls that were not made before ({number(now)} a transaction)"
    if not now:
        return f"no calls any more ({number(before)} before)"
    factor, change = now / before, f"({number(before)} → {number(now)})"
    if factor < 1:
        return f"{percent(round(factor, 2))} of the calls {change}"
    return f"{times(factor)} the calls {change}" if factor >= 1.1 else f"more calls {change}"


def _at_speed(part: Contribution) -> str:
    speed = pace(part)
    if speed is None:
        return ""
    now = duration(part.slow.per_call_ns or 0)
    if 0.9 <= speed <= 1.1:
        return f" at the usual speed ({now} each)"
    if 1 / 1.5 <= speed <= 1.5:
        return f" at about the usual speed ({_each(part)})"
    return f", though each {'takes longer' if speed > 1 else 'is faster'} ({_each(part)})"


def _speed(part: Contribution) -> str:
    speed = pace(part)
    if speed is None:
        return f"{duration(part.usual.mean_ns)} → {duration(part.slow.mean_ns)}"
    if speed >= 1.1:
        return f"each call takes {times(speed)} as long ({_each(part)})"
    return f"each call takes {'longer' if speed >= 1 else f'{percent(round(speed, 2))} of the time'} ({_each(part)})"


def _lookups(cause: Cause) -> str:
    words = joined(map(_lookup, cause.lookups.losing))
    if steady := cause.lookups.steady:
        words += f"; {_unchanged([each.target.address for each in steady])}"
        words += f" ({joined(_hit_ratio(each.target.slow) for each in steady)})"
    if abandoned := cause.lookups.abandoned:
        words += f"; {joined(each.target.address for each in abandoned)} {_is(abandoned)} hardly asked any more"
    return words


def _lookup(lookup: Lookup) -> str:
    target = lookup.target
    cache, now, before = f"{target.component} on {target.address}", target.slow, target.usual
    if now.errors > now.misses:
        return f"{cache} fails in {ratio(now.errors, now.calls)} of its calls"
    more = now.calls_per_transaction / before.calls_per_transaction
    calls = f" is asked {times(more)} as often and" if more > 1.3 else ""
    return f"{cache}{calls} hits {_hit_ratio(now)} instead of {_hit_ratio(before)}"


def _where(cause: Cause) -> str:
    """In which statement, on which server; nothing when it is the same everywhere."""
    where = ""
    if cause.statements:
        texts = [f"`{short(each.statement)}` ({_change(each, cause)})" for each in cause.statements]
        where += f", {'most of it ' if len(texts) == 1 else ''}in {joined(texts)}"
    if cause.targets:
        is_all = len(cause.targets) == 1 and not cause.steady_targets
        changes = [each.address if is_all else f"{each.address} ({_change(each, cause)})" for each in cause.targets]
        where += f", on {joined(changes)}"
    if cause.steady_targets:
        where += f"; {_unchanged([each.address for each in cause.steady_targets])}"
    return where


def _change(part: Contribution, cause: Cause) -> str:
    if cause.has_slower_calls and pace(part) is not None:
        return _each(part)
    return f"{number(part.usual.calls_per_transaction)} → {number(part.slow.calls_per_transaction)} calls"


def _each(part: Contribution) -> str:
    return f"{duration(part.usual.per_call_ns or 0)} → {duration(part.slow.per_call_ns or 0)} each"


def _failures(part: Contribution) -> str:
    if not fails_more(part):
        return ""
    usually = ratio(part.usual.errors, part.usual.calls) if part.usual.errors else "none"
    return f"{ratio(part.slow.errors, part.slow.calls)} of its calls fail instead of {usually}"


def _hit_ratio(cost: Cost) -> str:
    return ratio(cost.hits, cost.hits + cost.misses) if cost.hits + cost.misses else "nothing"


def _unchanged(addresses: Sequence[str]) -> str:
    return f"{joined(addresses)} {_is(addresses)} unchanged"


def _is(subjects: Sequence[object]) -> str:
    return "is" if len(subjects) == 1 else "are"


def _p(judged: Chance) -> str:
    return "p < 0.001" if judged.p_value < 0.001 else f"p = {judged.p_value:.2g}"
