"""Finds the components that cause a difference, and their own cause: more queries because a cache misses more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .answer import Contribution, Cost

LOOKUPS = ("memcache.get", "redis.get", "redis.mget", "redis.hget", "redis.hmget", "redis.hgetall")
"""A miss of these components makes an application query elsewhere; the same list as in queries/why/lost_lookups.sql."""
SQL = ("mysql.query", "mysql.fetch")
"""The components whose time the statements split."""
_CARRIES = 0.8
_NOTABLE = 0.12
_NOTABLE_PART = 0.15
_MAX_CAUSES = 3
_MAX_STATEMENTS = 2
_STEADY_PACE = 1.25
_STEADY_HITS = 0.05


@dataclass(frozen=True)
class Lookup:
    """A cache on one server. Lost lookups are misses and failed calls."""

    target: Contribution
    lost: float
    """Per transaction, more than usual."""


@dataclass(frozen=True)
class Lookups:
    """The caches that explain more calls elsewhere; empty when they do not."""

    losing: tuple[Lookup, ...] = ()
    """Those that lose more lookups than usual, the most first."""
    steady: tuple[Lookup, ...] = ()
    """Those with the usual hit ratio."""
    abandoned: tuple[Lookup, ...] = ()
    """Those with hardly any calls: their keys are looked up on the others."""


@dataclass(frozen=True)
class Cause:
    """One component that causes the difference, and where in it the difference is."""

    part: Contribution
    has_more_calls: bool
    """A good part of the difference is more (or fewer) calls."""
    has_slower_calls: bool
    lookups: Lookups
    targets: tuple[Contribution, ...]
    """The servers with most of this change; empty when it is all of several."""
    steady_targets: tuple[Contribution, ...]
    statements: tuple[Contribution, ...]
    """The statements with most of this change; empty when they are many."""


def find(
    components: Sequence[Contribution],
    targets: Sequence[Contribution],
    statements: Sequence[Contribution],
    calls_per_lost: Mapping[str, float],
) -> tuple[Cause, ...]:
    """
    The components that cause the difference, the largest first: together they are most of it.

    Args:
        calls_per_lost: From arithmetic.calls_per_lost_lookup.
    """
    sign = _sign(sum(each.difference_ns for each in components))
    pulling = [each for each in components if each.difference_ns * sign > 0]
    pulling.sort(key=lambda each: -abs(each.difference_ns))
    whole = sum(abs(each.difference_ns) for each in pulling)
    causes: list[Cause] = []
    explained = 0.0
    for part in pulling[:_MAX_CAUSES]:
        if causes and (explained >= _CARRIES * whole or abs(part.difference_ns) < _NOTABLE * whole):
            break
        causes.append(_cause(part, targets, statements, calls_per_lost))
        explained += abs(part.difference_ns)
    return tuple(causes)


def everything_is_slower(components: Sequence[Contribution]) -> float | None:
    """The factor by which nearly all time, in at least three components, changed alike; None when it did not."""
    parts = [each for each in components if each.usual.mean_ns > 0 and each.slow.mean_ns > 0]
    whole_ns = sum(each.usual.mean_ns for each in parts)
    paces = {each: pace(each) or each.slow.mean_ns / each.usual.mean_ns for each in parts}
    large = sorted(pace for each, pace in paces.items() if each.usual.mean_ns >= 0.05 * whole_ns)
    if len(large) < 3:
        return None
    middle = large[len(large) // 2]
    alike = [each for each in parts if abs(paces[each] - middle) < 0.5 * abs(middle - 1) and not _makes_more(each)]
    alike_ns = sum(each.usual.mean_ns for each in alike)
    return middle if alike_ns >= 0.9 * whole_ns and not 1 / _STEADY_PACE < middle < _STEADY_PACE else None


def _makes_more(part: Contribution) -> bool:
    return part.usual.calls > 0 and not _is_steady(part, is_slower=False)


def fails_more(part: Contribution) -> bool:
    """Clearly more of its calls fail than usual: more than twice as many, and at least one in a hundred."""
    return _failed(part.slow) >= 0.01 + 2 * _failed(part.usual)


def pace(part: Contribution) -> float | None:
    """Time per call as a multiple of the usual one; None without calls on both sides."""
    if not part.usual.per_call_ns or part.slow.per_call_ns is None:
        return None
    return part.slow.per_call_ns / part.usual.per_call_ns


def _cause(
    part: Contribution,
    targets: Sequence[Contribution],
    statements: Sequence[Contribution],
    calls_per_lost: Mapping[str, float],
) -> Cause:
    sign = _sign(part.difference_ns)
    notable_ns = _NOTABLE_PART * abs(part.difference_ns)
    has_more = part.more_ns * sign >= notable_ns
    is_slower = abs(part.slower_ns) > abs(part.more_ns)
    lookups = _lost_lookups(part, targets, calls_per_lost) if has_more else Lookups()
    mine = [each for each in targets if each.component == part.component]
    carrying = _carriers(mine, is_slower=is_slower, sign=sign)
    carrying_statements = _carriers(statements, is_slower=is_slower, sign=sign) if part.component in SQL else ()
    if len(carrying_statements) > _MAX_STATEMENTS or _is_everywhere(
        statements, carrying_statements, is_slower=is_slower
    ):
        carrying_statements = ()
    return Cause(
        part,
        has_more_calls=has_more,
        has_slower_calls=part.slower_ns * sign >= notable_ns,
        lookups=lookups,
        targets=() if len(carrying) == len(mine) > 1 else carrying,
        steady_targets=tuple(each for each in mine if each not in carrying and _is_steady(each, is_slower=is_slower)),
        statements=carrying_statements,
    )


def _lost_lookups(part: Contribution, targets: Sequence[Contribution], calls_per_lost: Mapping[str, float]) -> Lookups:
    """
    The caches whose lost lookups explain the change in calls, and those that work as usual.

    They explain it when the calls that come with each lost lookup are at least half of the change.
    """
    more_calls = part.slow.calls_per_transaction - part.usual.calls_per_transaction
    if part.component in LOOKUPS or more_calls == 0:
        return Lookups()
    sign = _sign(more_calls)
    caches = [Lookup(each, _lost(each)) for each in targets if each.component in LOOKUPS]
    lost = sum(each.lost * sign for each in caches if each.lost * sign > 0)
    # when all transactions of a side lose equally many, there is no slope: then the numbers must match
    follow = calls_per_lost.get(part.component, 0.0) if calls_per_lost else float(lost <= 2 * abs(more_calls))
    if follow * lost < 0.5 * abs(more_calls):
        return Lookups()
    culprits = [each for each in caches if each.lost * sign >= 0.2 * lost]
    culprits.sort(key=lambda each: -abs(each.lost))
    others = [each for each in caches if each not in culprits]
    return Lookups(
        tuple(culprits),
        steady=tuple(each for each in others if _answers_as_usual(each.target)),
        abandoned=tuple(each for each in others if _is_abandoned(each.target)),
    )


def _lost(target: Contribution) -> float:
    slow, usual = target.slow, target.usual
    if not (slow.calls and usual.calls):
        return 0.0  # used on one side only: its keys are counted on the servers that they moved to
    now = (slow.misses + slow.errors) / slow.calls * slow.calls_per_transaction
    return now - (usual.misses + usual.errors) / usual.calls * usual.calls_per_transaction


def _is_abandoned(target: Contribution) -> bool:
    return target.slow.calls_per_transaction < 0.2 * target.usual.calls_per_transaction


def _answers_as_usual(target: Contribution) -> bool:
    return (
        target.slow.calls > 0
        and not _is_abandoned(target)
        and abs(_hits(target.slow) - _hits(target.usual)) < _STEADY_HITS
    )


def _carriers(parts: Sequence[Contribution], *, is_slower: bool, sign: int) -> tuple[Contribution, ...]:
    """The fewest parts that are most of the change in this direction."""

    def size_ns(each: Contribution) -> float:
        return (each.slower_ns if is_slower else each.more_ns) * sign

    pulling = sorted((each for each in parts if size_ns(each) > 0), key=lambda each: -size_ns(each))
    enough_ns = _CARRIES * sum(map(size_ns, pulling))
    chosen: list[Contribution] = []
    while pulling and sum(map(size_ns, chosen)) < enough_ns:
        chosen.append(pulling.pop(0))
    return tuple(chosen)


def _is_steady(part: Contribution, *, is_slower: bool) -> bool:
    before, now = part.usual.calls_per_transaction, part.slow.calls_per_transaction
    factor = pace(part) if is_slower else now / before if before else None
    return factor is not None and 1 / _STEADY_PACE < factor < _STEADY_PACE


def _is_everywhere(parts: Sequence[Contribution], carrying: Sequence[Contribution], *, is_slower: bool) -> bool:
    """Whether the others became slower by about the same factor as those with most of the change."""
    if not is_slower:
        return False
    rest = [pace(each) or 1.0 for each in parts if each not in carrying and each.usual.calls]
    mine = [pace(each) or 1.0 for each in carrying]
    return bool(rest and mine) and 1 / _STEADY_PACE < (sum(rest) / len(rest)) / (sum(mine) / len(mine)) < _STEADY_PACE


def _hits(cost: Cost) -> float:
    return cost.hits / (cost.hits + cost.misses) if cost.hits + cost.misses else 0.0


def _failed(cost: Cost) -> float:
    return cost.errors / cost.calls if cost.calls else 0.0


def _sign(number: float) -> int:
    return 1 if number >= 0 else -1
