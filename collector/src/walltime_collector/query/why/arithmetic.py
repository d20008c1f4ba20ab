"""Splits the difference of two populations exactly: into components, and each into more calls and slower calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

from ..components import Sums
from .answer import Contribution, Cost


@dataclass(frozen=True)
class Totals:
    """A population: its transactions, their time, and what they spent it on."""

    transactions: int
    total_ns: int
    other_ns: int
    components: Mapping[str, Sums]

    def parts(self) -> dict[str, Sums]:
        """All that adds up to `total_ns`: the components, `other`, and the overlap as negative time."""
        overlap_ns = sum(each.time_ns for each in self.components.values()) + self.other_ns - self.total_ns
        return {**self.components, "other": Sums(time_ns=self.other_ns), "overlap": Sums(time_ns=-overlap_ns)}


def split(usual: Sums, usual_n: int, slow: Sums, slow_n: int) -> tuple[Fraction, Fraction]:
    """
    The difference of the mean times per transaction as (more calls, slower calls), exactly.

    more = (n_slow − n_usual) · t̄_usual, slower = n_slow · (t̄_slow − t̄_usual). Without usual calls, all calls are new
    and the whole difference is `more`; without any calls, as in `other`, it is `slower`.
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
    """One row of the answer, from exact sums."""
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
    parts = [
        contribution(
            before.get(name, Sums()), usual.transactions, now.get(name, Sums()), slow.transactions, component=name
        )
        for name in {**before, **now}
    ]
    used = [each for each in parts if any((each.usual.calls, each.usual.time_ns, each.slow.calls, each.slow.time_ns))]
    return tuple(sorted(used, key=lambda each: -abs(each.difference_ns)))


@dataclass(frozen=True)
class Losers:
    """The transactions of one population with the same number of lost lookups each, and the sums of their calls."""

    is_slow: bool
    lost: int
    transactions: int
    calls: Mapping[str, int]


def calls_per_lost_lookup(groups: Sequence[Losers]) -> dict[str, float]:
    """
    Calls of each component for one more lost lookup, within the populations; empty when nothing varies.

    It is the slope of the regression inside each population, not between them: two things that change at the same time
    may be unrelated, two that vary together from transaction to transaction are not.
    """
    variance = Fraction(0)
    covariance: dict[str, Fraction] = {}
    for side in (False, True):
        mine = [group for group in groups if group.is_slow is side]
        transactions = sum(group.transactions for group in mine)
        if not transactions:
            continue
        mean = Fraction(sum(group.lost * group.transactions for group in mine), transactions)
        variance += sum((group.lost - mean) ** 2 * group.transactions for group in mine)
        for group in mine:
            for component, calls in group.calls.items():
                covariance[component] = covariance.get(component, Fraction(0)) + (group.lost - mean) * calls
    return {component: float(each / variance) for component, each in covariance.items()} if variance else {}


def _cost(sums: Sums, transactions: int) -> Cost:
    return Cost(
        **asdict(sums),
        calls_per_transaction=sums.calls / transactions,
        mean_ns=sums.time_ns / transactions,
        per_call_ns=sums.time_ns / sums.calls if sums.calls else None,
    )
