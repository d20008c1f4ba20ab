"""Splits the difference of two populations exactly: into components, and each into more calls and slower calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from .answer import Contribution, Cost


@dataclass(frozen=True)
class Sums:
    """What something cost one population in all."""

    calls: int = 0
    time_ns: int = 0
    errors: int = 0
    hits: int = 0
    misses: int = 0


@dataclass(frozen=True)
class Totals:
    """A population: how many, how long in all, and on what."""

    transactions: int
    total_ns: int
    other_ns: int
    components: Mapping[str, Sums]

    def parts(self) -> dict[str, Sums]:
        """Everything that adds up to `total_ns`: the components, `other`, and the overlap as negative time."""
        overlap_ns = sum(each.time_ns for each in self.components.values()) + self.other_ns - self.total_ns
        return {**self.components, "other": Sums(time_ns=self.other_ns), "overlap": Sums(time_ns=-overlap_ns)}


def split(usual: Sums, usual_n: int, slow: Sums, slow_n: int) -> tuple[Fraction, Fraction]:
    """
    The difference of the mean times per transaction as (more calls, slower calls), exactly.

    more = (n_slow − n_usual) · t̄_usual, slower = n_slow · (t̄_slow − t̄_usual). Where there is no usual time per call,
    calls are new and all of it is `more`; what has no calls at all, such as `other`, can only be longer: `slower`.
    """
    difference = Fraction(slow.time_ns, slow_n) - Fraction(usual.time_ns, usual_n)
    if usual.calls:
        more_calls = Fraction(slow.calls, slow_n) - Fraction(usual.calls, usual_n)
        more = more_calls * Fraction(usual.time_ns, usual.calls)
    else:
        more = difference if slow.calls else Fraction(0)
    return more, difference - more


def contribution(
    usual: Sums, usual_n: int, slow: Sums, slow_n: int, *, component: str = "", address: str = "", statement: str = ""
) -> Contribution:
    """One line of the answer, from exact sums."""
    more, slower = split(usual, usual_n, slow, slow_n)
    return Contribution(
        component=component,
        address=address,
        statement=statement,
        difference_ns=float(more + slower),
        more_ns=float(more),
        slower_ns=float(slower),
        usual=_cost(usual, usual_n),
        slow=_cost(slow, slow_n),
    )


def contributions(usual: Totals, slow: Totals) -> tuple[Contribution, ...]:
    """All parts of the difference, the largest first. They add up to the difference of the means, exactly."""
    before, now = usual.parts(), slow.parts()
    found = [
        contribution(
            before.get(name, Sums()), usual.transactions, now.get(name, Sums()), slow.transactions, component=name
        )
        for name in {**before, **now}
    ]
    return tuple(sorted((each for each in found if _is_something(each)), key=lambda each: -abs(each.difference_ns)))


@dataclass(frozen=True)
class Losers:
    """The transactions of one population that lost so many lookups each, and the calls they made in all."""

    is_slow: bool
    lost: int
    transactions: int
    calls: Mapping[str, int]


def calls_per_lost_lookup(groups: Sequence[Losers]) -> dict[str, float]:
    """
    How many calls of each component come with one more lost lookup, within the populations; empty when nothing varies.

    The slope of the regression inside each population, not from one to the other: that two things changed at the same
    time is no evidence that one follows from the other, that they go together from transaction to transaction is.
    """
    varied = Fraction(0)
    together: dict[str, Fraction] = {}
    for side in (False, True):
        mine = [group for group in groups if group.is_slow is side]
        transactions = sum(group.transactions for group in mine)
        if not transactions:
            continue
        mean = Fraction(sum(group.lost * group.transactions for group in mine), transactions)
        varied += sum((group.lost - mean) ** 2 * group.transactions for group in mine)
        for group in mine:
            for component, calls in group.calls.items():
                together[component] = together.get(component, Fraction(0)) + (group.lost - mean) * calls
    return {component: float(covaried / varied) for component, covaried in together.items()} if varied else {}


def _is_something(each: Contribution) -> bool:
    return any((each.usual.calls, each.usual.time_ns, each.slow.calls, each.slow.time_ns))


def _cost(sums: Sums, transactions: int) -> Cost:
    return Cost(
        calls=sums.calls,
        time_ns=sums.time_ns,
        errors=sums.errors,
        hits=sums.hits,
        misses=sums.misses,
        calls_per_transaction=sums.calls / transactions,
        mean_ns=sums.time_ns / transactions,
        per_call_ns=sums.time_ns / sums.calls if sums.calls else None,
    )
