"""Writes what causes a difference as sentences: what changed in a component, by how much, where, and the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...format import duration, percent, ratio
from .answer import Contribution, Cost, Population, SampledLine
from .cause import Cause, Lookup, fails_more, pace
from .process import in_lines, of_other
from .wording import joined, number, short, signed, times


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


def _of_component(cause: Cause, reason: str, code: str) -> str:
    part = cause.part
    words = f"{part.component}: {_what(cause)}, {signed(part.difference_ns)}{', ' if code else ''}{code}"
    words += f", {reason or f'because {_lookups(cause)}'}" if cause.lookups.losing else _where(cause)
    return f"{words}; {failed}." if (failed := failures(part)) else f"{words}."


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


def failures(part: Contribution) -> str:
    """How many of its calls fail; empty when they are not clearly more than usual."""
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
