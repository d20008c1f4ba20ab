"""Finds the components that cause a difference, where in them it is, and which caches their calls follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ...components import SQL
from ...queries import Row
from ...statistics import CHANCE
from ...statistics.estimates import difference
from ..answer import Contribution
from ..reading import Reading
from . import because
from .because import Lookups

_CARRIES = 0.8
_NOTABLE = 0.12
_MOST = 0.5
_NOTABLE_PART = 0.15
_MAX_CAUSES = 3
_MAX_STATEMENTS = 2
_STEADY_PACE = 1.25
_OTHER = "(other)"
"""The rest of the servers, or of the statements, of a transaction that has too many."""


Others = Literal["", "statements", "servers"]


@dataclass(frozen=True)
class Cause:
    """One component that causes the difference, and where in it the difference is."""

    part: Contribution
    has_more_calls: bool
    """A good part of the difference is more (or fewer) calls."""
    has_slower_calls: bool
    lookups: Lookups = field(default_factory=Lookups)
    targets: tuple[Contribution, ...] = ()
    """The servers with most of this change; empty when it is all of several."""
    steady_targets: tuple[Contribution, ...] = ()
    statements: tuple[Contribution, ...] = ()
    """The statements with most of this change; empty when they are many."""
    others: Others = ""
    """Calls take longer on average only because others of these are called."""
    is_slower: bool = False
    """Slower calls are the larger part, and no mix of others."""
    rows: tuple[float, float] | None = None
    """Usual rows of a call, and now; None where they are not known."""


def find(reading: Reading) -> tuple[Cause, ...]:
    """
    The components that cause the difference, the largest first: together they are most of it.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    sign = math.copysign(1, sum(each.difference_ns for each in reading.components))
    pulling = [each for each in reading.components if each.difference_ns * sign > 0]
    pulling.sort(key=lambda each: -abs(each.difference_ns))
    whole = sum(abs(each.difference_ns) for each in pulling)
    causes: list[Cause] = []
    explained = 0.0
    for part in pulling[:_MAX_CAUSES]:
        if causes and (explained >= _CARRIES * whole or abs(part.difference_ns) < _NOTABLE * whole):
            break
        explained += abs(part.difference_ns)
        both = reading.sides("component", component=part.component)
        if not _is_chance(reading, both, "time"):
            causes.append(_cause(part, reading, both))
    transactions = because.read(reading) if any(each.has_more_calls for each in causes) else None
    return tuple(
        replace(each, lookups=because.lookups(each.part, reading, transactions)) if each.has_more_calls else each
        for each in causes
    )


def everything_is_slower(components: Sequence[Contribution]) -> float | None:
    """The factor by which nearly all time, in at least three components, changed alike; None when it did not."""
    parts = [each for each in components if each.usual.mean_ns > 0 and each.slow.mean_ns > 0]
    whole_ns = sum(each.usual.mean_ns for each in parts)
    paces = {each: each.pace or each.slow.mean_ns / each.usual.mean_ns for each in parts}
    large = sorted(pace for each, pace in paces.items() if each.usual.mean_ns >= 0.05 * whole_ns)
    if len(large) < 3:
        return None
    middle = large[len(large) // 2]
    usual_calls = [each for each in parts if not each.usual.calls or _is_steady(each, is_slower=False)]
    alike = [each for each in usual_calls if abs(paces[each] - middle) < 0.5 * abs(middle - 1)]
    # what is new, or not alike, may not be most of the difference either
    shares = (
        sum(each.usual.mean_ns for each in alike) / whole_ns,
        sum(each.difference_ns for each in alike) / (sum(each.difference_ns for each in components) or 1.0),
    )
    return middle if min(shares) >= 0.9 and not _is_usual(middle) else None


def fails_more(part: Contribution) -> bool:
    """Clearly more of its calls fail than usual: more than twice as many, and at least one in a hundred."""
    usual, slow = (each.errors / each.calls if each.calls else 0.0 for each in (part.usual, part.slow))
    return slow >= 0.01 + 2 * usual


def _is_chance(reading: Reading, both: tuple[Row, Row] | None, what: Literal["time", "calls"]) -> bool:
    """Whether the mean of a component may differ by chance: of so many components, one does."""
    if not reading.is_different or not both:
        return False  # then chance explains the whole, and that is said
    column = "calls_per_transaction" if what == "calls" else "time_ns_per_transaction"
    usual, slow = (
        (row[column], row[f"{what}_variance"], side.transactions)
        for row, side in zip(both, (reading.usual, reading.slow), strict=True)
    )
    return difference(usual, slow).p_value * len(reading.components) >= CHANCE


def _cause(part: Contribution, reading: Reading, both: tuple[Row, Row] | None) -> Cause:
    sign = math.copysign(1, part.difference_ns)
    notable_ns = _NOTABLE_PART * abs(part.difference_ns)
    mine = [each for each in reading.targets if each.component == part.component]
    sent = reading.statements if part.component in SQL else ()
    splits: dict[Others, Sequence[Contribution]] = {"statements": sent, "servers": mine}
    has_slower = part.slower_ns * sign >= notable_ns
    others: Others = next((name for name, each in splits.items() if has_slower and _are_others(part, each)), "")
    has_more = part.more_ns * sign >= notable_ns or (bool(others) and part.more_calls * sign > 0)
    is_slower = not others and abs(part.slower_ns) > abs(part.more_ns)
    carrying, statements = (_carriers(part, each, is_slower=is_slower, sign=sign) for each in (mine, sent))
    if len(statements) > _MAX_STATEMENTS or (is_slower and _is_everywhere(sent, statements)):
        statements = ()
    usual_rows, slow_rows = (float(row["rows_per_call"]) for row in both) if both else (0.0, 0.0)
    return Cause(
        part,
        has_more and not _is_chance(reading, both, "calls"),
        has_slower,
        targets=() if len(carrying) == len(mine) > 1 else carrying,
        steady_targets=tuple(each for each in mine if each not in carrying and _is_steady(each, is_slower=is_slower)),
        statements=statements,
        others=others,
        is_slower=is_slower,
        rows=(usual_rows, slow_rows) if usual_rows and slow_rows and has_slower and not others else None,
    )


def _are_others(part: Contribution, drilled: Sequence[Contribution]) -> bool:
    """Calls take longer on average, and hardly any of those that were split do: other ones are called."""
    is_known = sum(each.slow.time_ns for each in drilled) >= _CARRIES * part.slow.time_ns
    return is_known and len(drilled) > 1 and abs(sum(each.slower_ns for each in drilled)) < 0.5 * abs(part.slower_ns)


def _carriers(
    part: Contribution, drilled: Sequence[Contribution], *, is_slower: bool, sign: float
) -> tuple[Contribution, ...]:
    """The fewest that are most of the change in this direction; none when that is not most of the component's."""
    sizes_ns = {each: (each.slower_ns if is_slower else each.more_ns) * sign for each in drilled}
    whole_ns, reached_ns = sum(each for each in sizes_ns.values() if each > 0), 0.0
    chosen: list[Contribution] = []
    for each in sorted(sizes_ns, key=lambda each: -sizes_ns[each]):
        if reached_ns < _CARRIES * whole_ns:
            chosen.append(each)
            reached_ns += sizes_ns[each]
    is_most = reached_ns >= _MOST * abs(part.slower_ns if is_slower else part.more_ns)
    return tuple(chosen) if is_most and not any(_OTHER in (each.address, each.statement) for each in chosen) else ()


def _is_everywhere(parts: Sequence[Contribution], carrying: Sequence[Contribution]) -> bool:
    """Whether the others became slower by about the same factor as those with most of the change."""
    rest = [each.pace or 1.0 for each in parts if each not in carrying and each.usual.calls]
    mine = [each.pace or 1.0 for each in carrying]
    more, others = (sum(each) / len(each) - 1 if each else 0.0 for each in (mine, rest))
    return others * math.copysign(1, more) >= _MOST * abs(more) > 0


def _is_steady(part: Contribution, *, is_slower: bool) -> bool:
    before, now = part.usual.calls_per_transaction, part.slow.calls_per_transaction
    return _is_usual(part.pace if is_slower else now / before if before else None)


def _is_usual(factor: float | None) -> bool:
    return factor is not None and 1 / _STEADY_PACE < factor < _STEADY_PACE
