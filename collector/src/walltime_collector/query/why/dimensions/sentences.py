"""Writes the mix that changed, and the hosts, users and other values that explain a difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....format import duration, percent, ratio
from ...condition.values import quoted_value
from ...statistics import CHANCE, SUPPORT
from ..answer import Contribution
from ..finding import Finding
from ..reading import Reading
from ..values import NO_MIX, Dimension, Mix, Stratum
from ..wording import joined, label, lift, means, signed, times
from .search import Dimensions, Replaced

_PREPOSITIONS = {"host": "On", "instance": "On", "environment": "In", "user": "For"}
_SERVING = {"host": "hosts", "version": "versions", "environment": "environments", "instance": "instances"}
_PLURALS = {"status": "statuses", "user": "users", "method": "methods", "error.type": "error types", **_SERVING}
_MOST_STRATA, _MOST_FAILING = 3, 3
_AS_USUAL, _SAME, _NOTABLE = 1.1, 1.05, 0.1


def findings(reading: Reading, found: Dimensions, failing: Sequence[tuple[Contribution, float]]) -> Iterator[Finding]:
    """The mix, values, servers whose calls fail, and what changed at the same time, in this order."""
    if found.mix:
        yield _of_mix(reading, found.mix)
    for each in found.values:
        yield _of_value(reading, each, found.mix)
    for target, p_value in failing[:_MOST_FAILING]:
        yield _of_failing(reading, target, p_value)
    yield from (_of_replaced(reading, each) for each in found.replaced[:1])


def _of_mix(reading: Reading, mix: Mix) -> Finding:
    *named, rest = mix.strata
    is_mirrored = len(named) == 2 and not (rest.usual_transactions or rest.slow_transactions)
    said = [each for each in named if abs(each.mix_ns) >= _NOTABLE * abs(named[0].mix_ns)]
    said = said[: 1 if is_mirrored else _MOST_STRATA]
    of = f" of {_PLURALS[mix.dimension]}" if mix.dimension in _PLURALS else ""
    words = f"The mix{of} {'differs' if reading.compared.when else 'changed'}: "
    words += "; ".join(_of_stratum(each, mix, reading) for each in said)
    is_against = mix.mix_ns * reading.difference_ns < 0
    words += f". This {'alone ' if is_against else ''}makes {signed(mix.mix_ns)}"
    words += "" if is_against else f" of the {signed(reading.difference_ns)}"
    words += f"; like with like, each compared with itself, the difference is {signed(mix.like_with_like_ns)}"
    words += ", no more than chance." if mix.rest_p_value >= CHANCE else "."
    first = said[0]
    numbers = {"usual_share": first.usual_share, "slow_share": first.slow_share}
    numbers |= {"usual_mean_ns": reading.usual.mean_ns, "slow_mean_ns": reading.slow.mean_ns}
    evidence = reading.evidence("mix", numbers, value=_condition(mix.dimension, first.value), **mix.parameters())
    return Finding("mix", words, mix.mix_ns, p_value=mix.p_value, subject=mix.dimension, evidence=evidence)


def _of_stratum(each: Stratum, mix: Mix, reading: Reading) -> str:
    field, _, key = mix.dimension.partition(".")
    prefix = f"{key}=" if field == "annotation" else "" if field == "status" else f"{mix.dimension.replace('.', ' ')} "
    name, before, now = prefix + each.value, percent(each.usual_share), percent(each.slow_share)
    usually, share, mean_ns, all_ns = " usually", each.usual_share, each.usual_mean_ns, reading.usual.mean_ns
    if each.usual_transactions < SUPPORT:
        usually, share, mean_ns, all_ns = "", each.slow_share, each.slow_mean_ns, reading.slow.mean_ns
    others_ns = (all_ns - share * (mean_ns or 0.0)) / (1 - share) if share < 1 else 0.0
    take = f", which{usually} take {_than(mean_ns, others_ns)}"
    if not each.usual_transactions:
        return f"{name} is new with {now} of the transactions{take}"
    if not each.slow_transactions:
        return f"no {name} any more, {before} of the transactions before{take}"
    more = "more" if each.slow_share > each.usual_share else "fewer"
    return f"{more} of {name}, {now} of the transactions instead of {before}{take}"


def _of_value(reading: Reading, each: Dimension, mix: Mix | None) -> Finding:
    part_ns = each.more_ns + each.slower_ns
    part = f", {signed(part_ns)} of the {signed(reading.difference_ns)}" if part_ns else ""
    words = _of_part(each, reading) + part if reading.compared.is_of_one_window else _of_windows(each, part)
    words += f". These are also the transactions with {joined(each.same)}." if each.same else "."
    names = ("usual_share", "slow_share", "usual_mean_ns", "slow_mean_ns", "usual_rest_mean_ns", "slow_rest_mean_ns")
    numbers = {name: getattr(each, name) for name in names if getattr(each, name) is not None}
    key, _, text = each.value.partition("=")
    field = (f"annotation.{key}", text) if each.dimension == "annotation" else (each.dimension, each.value)
    weights = mix.parameters() if mix and not reading.compared.is_of_one_window else NO_MIX
    evidence = reading.evidence("dimension", numbers, value=_condition(*field), **weights)
    return Finding("value", words, part_ns or None, p_value=each.p_value, subject=label(each), evidence=evidence)


def _condition(field: str, value: str) -> str:
    first, dot, key = field.replace(" ", ".").partition(".")
    name = f"annotation.{quoted_value(key)}" if first == "annotation" else f"{first}{dot}{key}"
    return f"{name} = {quoted_value(value)}"


def _of_part(each: Dimension, reading: Reading) -> str:
    part = "of those that match" if reading.compared.when else "of the slowest"
    words = f"{_where(each)}: {percent(each.slow_share)} {part}, {percent(each.usual_share)} of the others"
    return words if each.lift is None else f"{words} (lift {lift(each)})"


def _of_windows(each: Dimension, part: str) -> str:
    own_ns, rest_ns = each.slow_mean_ns or 0.0, each.slow_rest_mean_ns or 0.0
    if not (each.usual_mean_ns and each.usual_rest_mean_ns):
        words = f"{_where(each)}, new with {percent(each.slow_share)} of the transactions"
        return f"{words}: {_than(own_ns, rest_ns)} ({duration(own_ns)} and {duration(rest_ns)}){part}"
    own, rest = own_ns / each.usual_mean_ns, rest_ns / each.usual_rest_mean_ns
    is_usual = 1 / _AS_USUAL < rest < _AS_USUAL
    words = f"{_where(each)} {'only' if is_usual or (own > 1) is not (rest > 1) else 'mostly'}"
    words += f": {_than(own_ns, each.usual_mean_ns, 'usual')} ({means(each)}){part}; "
    noun, number = _SERVING.get(each.dimension), each.values - 1
    words += f"the other {noun[:-1] if number == 1 else f'{number} {noun}'} " if noun and number else "the others "
    if is_usual:
        return f"{words}{'is' if noun and number == 1 else 'are'} as usual"
    return f"{words}take{'s' if noun and number == 1 else ''} {_than(rest_ns, each.usual_rest_mean_ns, 'usual')}"


def _than(ns: float | None, other_ns: float, whom: str = "the others") -> str:
    """`2.1× as long as the others`, `40 % of the time of the others`."""
    factor = (ns or 0.0) / other_ns if other_ns else 1.0
    if 1 / _SAME < factor < _SAME:
        return f"about as long as {whom}"
    time = "usual time" if whom == "usual" else f"time of {whom}"
    return f"{times(factor)} as long as {whom}" if factor > 1 else f"{percent(round(factor, 2))} of the {time}"


def _where(each: Dimension) -> str:
    value = each.value if each.dimension == "host" else label(each)
    return f"{_PREPOSITIONS.get(each.dimension, 'With')} {value}"


def _of_failing(reading: Reading, target: Contribution, p_value: float) -> Finding:
    sides = {side: each for side, each in (("usual", target.usual), ("slow", target.slow)) if each.calls}
    now, *before = [ratio(each.errors, each.calls) if each.errors else "none" for each in reversed(sides.values())]
    words = f"{target.component} on {target.address}: {now} of its calls fail{' instead of ' if before else ''}"
    numbers = {f"{side}_{name}": getattr(each, name) for side, each in sides.items() for name in ("calls", "errors")}
    evidence = reading.evidence("server", numbers, component=target.component, address=target.address)
    subject = f"{target.component} {target.address}"
    return Finding("servers", f"{words}{''.join(before)}.", p_value=p_value, subject=subject, evidence=evidence)


def _of_replaced(reading: Reading, each: Replaced) -> Finding:
    name = f"{each.dimension} {each.value}"
    change = f"{name} replaced {each.before}" if each.before else f"{name} came, which none had before,"
    words = f"At the same time {change} everywhere; this alone does not show that it is the cause."
    numbers = {"usual_share": 0.0, "slow_share": 1.0}
    evidence = reading.evidence("dimension", numbers, value=_condition(each.dimension, each.value), **NO_MIX)
    return Finding("circumstance", words, subject=name, evidence=evidence)
