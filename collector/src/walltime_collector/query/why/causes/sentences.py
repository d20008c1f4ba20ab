"""Writes what causes a difference as sentences: what changed in a component, by how much, where, and the reason."""

from __future__ import annotations

from collections.abc import Sequence

from ....format import duration, percent, ratio
from ..answer import Contribution, Cost, SampledLine
from ..finding import Evidence, Finding
from ..reading import Reading
from ..wording import as_long, joined, number, short, signed, times
from . import process
from .because import STEADY_HITS, Lookups
from .cause import Cause, fails_more

_ALL = 0.8
_MORE_ROWS = 1.25


def findings(reading: Reading, causes: Sequence[Cause], lines: Sequence[SampledLine] = ()) -> list[Finding]:
    """A finding for each component: what changed, by how much, where, and the reason, which is given once."""
    found: list[Finding] = []
    is_given = False
    for cause in causes:
        part = cause.part
        if part.component == "other":
            found.append(process.of_other(reading, part, lines))
            continue
        sentence = _of_component(cause, "for the same reason" if is_given else "", process.in_lines(part, lines))
        if part.component == "overlap":
            now, before = duration(-part.slow.mean_ns), duration(-part.usual.mean_ns)
            sentence = f"overlap: calls that ran at the same time saved {now} instead of {before}."
        is_given = is_given or cause.lookups.is_why
        evidence = _evidence(reading, cause)
        found.append(Finding("component", sentence, part.difference_ns, subject=part.component, evidence=evidence))
    return found


def _evidence(reading: Reading, cause: Cause) -> Evidence:
    """The sums of the component, or of the first cache that its calls follow, and kept transactions that show it."""
    of, columns = cause.part, {"calls_per_transaction": "calls_per_transaction", "time_ns_per_transaction": "mean_ns"}
    if cause.lookups.changed:
        of, columns = cause.lookups.changed[0], {name: name for name in ("hits", "misses", "errors")}
    sides = {"usual": of.usual, "slow": of.slow}
    numbers = {f"{side}_{name}": getattr(sides[side], source) for side in sides for name, source in columns.items()}
    if cause.lookups.changed:
        cache = {"cache": of.component, "address": of.address}
        return reading.evidence("lookups", numbers, *cause.lookups.traces, **cache)
    if cause.rows:
        numbers["usual_rows_per_call"], numbers["slow_rows_per_call"] = cause.rows
    return reading.evidence("component", numbers, component=of.component)


def _of_component(cause: Cause, reason: str, code: str) -> str:
    part, lookups = cause.part, cause.lookups
    words = f"{part.component}: {_what(cause)}, {signed(part.difference_ns)}{', ' if code else ''}{code}"
    if lookups.is_why:
        words += _where(cause) if cause.others else ""
        words += ", the number of calls" if cause.has_slower_calls and not cause.others else ","
        words += f" {reason or f'because {_lookups(lookups)}'}{_rest(cause)}"
    elif lookups.changed and lookups.follow:
        words += f"{_where(cause)}{_rest(cause)}: {_lookups(lookups)}"
    else:
        words += _where(cause)
        words += f"; at the same time {_lookups(lookups)}" if lookups.changed else ""
    if fails_more(part):
        usually = ratio(part.usual.errors, part.usual.calls) if part.usual.errors else "none"
        words += f"; {ratio(part.slow.errors, part.slow.calls)} of its calls fail instead of {usually}"
    return f"{words}."


def _rest(cause: Cause) -> str:
    """How many of the additional calls follow lost lookups, where this is not nearly all of them."""
    change, follow = cause.part.more_calls, cause.lookups.follow
    if follow >= _ALL * abs(change):
        return ""
    calls = f"of the {number(abs(change))} {'more' if change > 0 else 'fewer'} calls {number(follow)}"
    return f"; {calls} {'follow' if change > 0 else 'followed'} lost lookups"


def _what(cause: Cause) -> str:
    part = cause.part
    if cause.has_more_calls and not cause.has_slower_calls:
        return f"{_calls(part)}{_at_speed(part)}"
    longer = _speed(cause)
    if cause.others and part.pace is not None:
        longer = f"the average call takes {times(part.pace)} as long ({_each(part)}), of other {cause.others}"
    return f"{_calls(part)}, and {longer}" if cause.has_more_calls else longer


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
    speed = part.pace
    if speed is None:
        return ""
    if 0.9 <= speed <= 1.1:
        return f" at the usual speed ({duration(part.slow.per_call_ns or 0)} each)"
    if 1 / 1.5 <= speed <= 1.5:
        return f" at about the usual speed ({_each(part)})"
    return f", though each {'takes longer' if speed > 1 else 'is faster'} ({_each(part)})"


def _speed(cause: Cause) -> str:
    part, speed = cause.part, cause.part.pace
    if speed is None:
        return f"{duration(part.usual.mean_ns)} → {duration(part.slow.mean_ns)}"
    words = f"each call takes {'longer' if 1 <= speed < 1.1 else as_long(speed)} ({_each(part)})"
    if cause.rows and speed > 1 and cause.rows[1] >= _MORE_ROWS * cause.rows[0]:
        words += f" and returns {times(cause.rows[1] / cause.rows[0])} the rows"
    return words


def _lookups(lookups: Lookups) -> str:
    words = joined(map(_lookup, lookups.changed))
    if steady := lookups.steady:
        words += f"{_are(steady, 'unchanged')} ({joined(_hit_ratio(each.slow) for each in steady)})"
    return words + (_are(lookups.abandoned, "hardly asked any more") if lookups.abandoned else "")


def _lookup(target: Contribution) -> str:
    cache, now, before = f"{target.component} on {target.address}", target.slow, target.usual
    if now.errors > now.misses:
        return f"{cache} fails in {ratio(now.errors, now.calls)} of its calls"
    if before.errors > before.misses:
        return f"{cache} does not fail in {ratio(before.errors, before.calls)} of its calls any more"
    more = now.calls_per_transaction / before.calls_per_transaction
    calls = "" if 1 / 1.3 <= more <= 1.3 else f"{times(more)} as often" if more > 1 else f"{percent(more)} as often"
    if calls and abs(now.hit_ratio - before.hit_ratio) < STEADY_HITS:
        return f"{cache} is asked {calls} (and hits {_hit_ratio(now)})"
    asked = f" is asked {calls} and" if calls else ""
    return f"{cache}{asked} hits {_hit_ratio(now)} instead of {_hit_ratio(before)}"


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
    return where + (_are(cause.steady_targets, "unchanged") if cause.steady_targets else "")


def _change(part: Contribution, cause: Cause) -> str:
    if cause.is_slower and part.pace is not None:
        return _each(part)
    return f"{number(part.usual.calls_per_transaction)} → {number(part.slow.calls_per_transaction)} calls"


def _each(part: Contribution) -> str:
    return f"{duration(part.usual.per_call_ns or 0)} → {duration(part.slow.per_call_ns or 0)} each"


def _hit_ratio(cost: Cost) -> str:
    return ratio(cost.hits, cost.hits + cost.misses) if cost.hits + cost.misses else "nothing"


def _are(servers: Sequence[Contribution], what: str) -> str:
    return f"; {joined(each.address for each in servers)} {'is' if len(servers) == 1 else 'are'} {what}"
