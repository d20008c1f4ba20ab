"""Which parts of the answer are shown, and the texts of their columns, for the command and the page alike."""

from __future__ import annotations

from collections.abc import Sequence

from ...format import count, duration, ratio
from .answer import Contribution, Cost, Why
from .cause import LOOKUPS, SQL

SMALLEST_SHOWN = 0.01
"""Contributions below this fraction of the largest are summed in one row."""
_FEWEST_ERRORS = 3
_LOST = 0.05


def worth_showing(components: Sequence[Contribution]) -> tuple[list[Contribution], list[Contribution]]:
    """The contributions that are shown one by one, and the rest."""
    largest = max((abs(each.difference_ns) for each in components), default=0.0)
    shown = [each for each in components if abs(each.difference_ns) >= SMALLEST_SHOWN * largest]
    rest = [each for each in components if each not in shown]
    return shown, rest if abs(sum(each.difference_ns for each in rest)) >= 1 else []


def targets_worth_showing(why: Why) -> list[Contribution]:
    """The servers of these components, and caches that miss, in the order of the components."""
    names = [each.component for each in worth_showing(why.components)[0]]
    # a cache lookup can cost little itself and be the cause of the rest
    missing = {each.component for each in why.targets if each.usual.misses or each.slow.misses}
    names += [lookup for lookup in LOOKUPS if lookup in missing and lookup not in names]
    chosen = [each for each in why.targets if each.component in names]
    return sorted(chosen, key=lambda each: (names.index(each.component), -abs(each.difference_ns)))


def statements_worth_showing(why: Why) -> tuple[Contribution, ...]:
    """The statements, when one of these components sends them."""
    shown, _ = worth_showing(why.components)
    return why.statements if any(each.component in SQL for each in shown) else ()


def calls(each: Contribution) -> str:
    """Calls per transaction: `2 → 5.8`."""
    if not (each.usual.calls or each.slow.calls):
        return ""
    return _arrow(*(_number(side.calls_per_transaction) for side in (each.usual, each.slow)))


def per_call(each: Contribution) -> str:
    """Time per call: `3.06 ms → 3.10 ms`."""
    if not (each.usual.calls or each.slow.calls):
        return ""
    return _arrow(*("–" if ns is None else duration(ns) for ns in (each.usual.per_call_ns, each.slow.per_call_ns)))


def per_transaction(each: Contribution) -> str:
    """Time per transaction: `6.12 ms → 17.9 ms`."""
    return _arrow(duration(each.usual.mean_ns), duration(each.slow.mean_ns))


def hits(each: Contribution) -> str:
    """Hit ratios: `100 % → 56 %`; empty for what has no hits and misses."""
    if not any((each.usual.hits, each.usual.misses, each.slow.hits, each.slow.misses)):
        return ""
    return f"{_hit_ratio(each.usual)} → {_hit_ratio(each.slow)}"


def loses_lookups(each: Contribution) -> bool:
    """The hit ratio fell by 5 points or more."""
    sides = [(side.hits, side.hits + side.misses) for side in (each.usual, each.slow)]
    return all(whole for _, whole in sides) and sides[0][0] / sides[0][1] - sides[1][0] / sides[1][1] >= _LOST


def failures(each: Contribution) -> str:
    """Failed calls: `0 % → 12 %`; empty when there are hardly any."""
    usual, slow = each.usual, each.slow
    if max(usual.errors, slow.errors) < _FEWEST_ERRORS:
        return ""
    return f"{_ratio(usual.errors, usual.calls)} → {_ratio(slow.errors, slow.calls)}"


def _arrow(before: str, now: str) -> str:
    return before if before == now else f"{before} → {now}"


def _number(number: float) -> str:
    return count(round(number, 1) if number >= 0.1 else number)


def _hit_ratio(cost: Cost) -> str:
    return _ratio(cost.hits, cost.hits + cost.misses)


def _ratio(part: int, whole: int) -> str:
    return ratio(part, whole) if whole else "–"
