"""Finds the components that cause a difference, where in them it is, and which caches their calls follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ...components import SQL
from ...queries import Row, run
from ...statistics import CHANCE
from ...statistics.estimates import difference
from ..answer import Contribution, Cost
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
    others: Literal["", "statements", "servers"] = ""
    """Calls take longer on average only because others of these are called."""
    rows: tuple[float, float] | None = None
    """Usual rows of a call, and now; None where they are not known."""

    @property
    def is_slower(self) -> bool:
        """Slower calls are the larger part, and no mix of others."""
        return not self.others and abs(self.part.slower_ns) > abs(self.part.more_ns)


def find(reading: Reading) -> tuple[Cause, ...]:
    """
    The components that cause the difference, the largest first: together they are most of it.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    sign = _sign(sum(each.difference_ns for each in reading.components))
    pulling = [each for each in reading.components if each.difference_ns * sign > 0]
    pulling.sort(key=lambda each: -abs(each.difference_ns))
    whole = sum(abs(each.difference_ns) for each in pulling)
    causes: list[Cause] = []
    explained = 0.0
    for part in pulling[:_MAX_CAUSES]:
        if causes and (explained >= _CARRIES * whole or abs(part.difference_ns) < _NOTABLE * whole):
            break
        explained += abs(part.difference_ns)
        of_part = {**reading.params, "component": part.component}
        rows = {row["side"]: row for row in run(reading.engine, "why/evidence/component", **of_part)}
        if not _is_chance(reading, rows, "time"):
            causes.append(_cause(part, reading, rows))
    transactions = because.read(reading) if any(each.has_more_calls for each in causes) else None
    return tuple(
        replace(each, lookups=because.lookups(each.part, reading, transactions)) if each.has_more_calls else each
        for each in causes
    )


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
    # what is new, or not alike, may not be most of the difference either
    shares = (
        sum(each.usual.mean_ns for each in alike) / whole_ns,
        sum(each.difference_ns for each in alike) / (sum(each.difference_ns for each in components) or 1.0),
    )
    return middle if min(shares) >= 0.9 and not 1 / _STEADY_PACE < middle < _STEADY_PACE else None


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


def _is_chance(reading: Reading, rows: Mapping[str, Row], what: Literal["time", "calls"]) -> bool:
    """Whether the mean of a component may differ by chance: of so many components, one does."""
    if not reading.is_different or len(rows) < 2:
        return False  # then chance explains the whole, and that is said
    column = "calls_per_transaction" if what == "calls" else "time_ns_per_transaction"
    usual, slow = (
        (rows[side][column], rows[side][f"{what}_variance"], of.transactions)
        for side, of in (("usual", reading.usual), ("slow", reading.slow))
    )
    return difference(usual, slow).p_value * len(reading.components) >= CHANCE


def _cause(part: Contribution, reading: Reading, rows: Mapping[str, Row]) -> Cause:
    sign = _sign(part.difference_ns)
    notable_ns = _NOTABLE_PART * abs(part.difference_ns)
    mine = [each for each in reading.targets if each.component == part.component]
    sent = reading.statements if part.component in SQL else ()
    has_slower = part.slower_ns * sign >= notable_ns
    others: Literal["", "statements", "servers"] = ""
    if has_slower and _are_others(part, sent):
        others = "statements"
    elif has_slower and _are_others(part, mine):
        others = "servers"
    more_calls = part.slow.calls_per_transaction - part.usual.calls_per_transaction
    has_more = part.more_ns * sign >= notable_ns or (bool(others) and more_calls * sign > 0)
    found = Cause(part, has_more and not _is_chance(reading, rows, "calls"), has_slower, others=others)
    carrying, statements = (_carriers(part, each, is_slower=found.is_slower, sign=sign) for each in (mine, sent))
    if len(statements) > _MAX_STATEMENTS or _is_everywhere(sent, statements, is_slower=found.is_slower):
        statements = ()
    steady = (each for each in mine if each not in carrying and _is_steady(each, is_slower=found.is_slower))
    return replace(
        found,
        targets=() if len(carrying) == len(mine) > 1 else carrying,
        steady_targets=tuple(steady),
        statements=statements,
        rows=_rows(part, rows) if has_slower and not others else None,
    )


def _are_others(part: Contribution, drilled: Sequence[Contribution]) -> bool:
    """Calls take longer on average, and hardly any of those that were split do: other ones are called."""
    is_known = sum(each.slow.time_ns for each in drilled) >= _CARRIES * part.slow.time_ns
    return is_known and len(drilled) > 1 and abs(sum(each.slower_ns for each in drilled)) < 0.5 * abs(part.slower_ns)


def _rows(part: Contribution, rows: Mapping[str, Row]) -> tuple[float, float] | None:
    if part.component not in SQL:
        return None
    per_call = {side: float(row["rows_per_call"]) for side, row in rows.items()}
    usual, slow = per_call.get("usual", 0.0), per_call.get("slow", 0.0)
    return (usual, slow) if usual and slow else None


def _carriers(
    part: Contribution, drilled: Sequence[Contribution], *, is_slower: bool, sign: int
) -> tuple[Contribution, ...]:
    """The fewest that are most of the change in this direction; none when that is not most of the component's."""

    def size_ns(each: Contribution) -> float:
        return (each.slower_ns if is_slower else each.more_ns) * sign

    pulling = sorted((each for each in drilled if size_ns(each) > 0), key=lambda each: -size_ns(each))
    enough_ns = _CARRIES * sum(map(size_ns, pulling))
    chosen: list[Contribution] = []
    while pulling and sum(map(size_ns, chosen)) < enough_ns:
        chosen.append(pulling.pop(0))
    is_most = sum(map(size_ns, chosen)) >= _MOST * abs(part.slower_ns if is_slower else part.more_ns)
    return tuple(chosen) if is_most and not any(_OTHER in (each.address, each.statement) for each in chosen) else ()


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
    more, others = (sum(each) / len(each) - 1 if each else 0.0 for each in (mine, rest))
    return others * _sign(more) >= _MOST * abs(more) > 0


def _failed(cost: Cost) -> float:
    return cost.errors / cost.calls if cost.calls else 0.0


def _sign(number: float) -> int:
    return 1 if number >= 0 else -1
