"""Splits the difference of two populations exactly: into components, and each into more calls and slower calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction

from ..components import Sums
from .answer import Contribution, Cost


@dataclass(frozen=True)
class Totals:
    """A population: its transactions, their time, and what they spent it on."""

    transactions: float
    total_ns: int
    other_ns: int
    components: Mapping[str, Sums]

    def parts(self) -> dict[str, Sums]:
        """All that adds up to `total_ns`: the components, `other`, and the overlap as negative time."""
        overlap_ns = sum(each.time_ns for each in self.components.values()) + self.other_ns - self.total_ns
        return {**self.components, "other": Sums(time_ns=self.other_ns), "overlap": Sums(time_ns=-overlap_ns)}


def split(usual: Sums, usual_n: float, slow: Sums, slow_n: float) -> tuple[Fraction, Fraction]:
    """
    The difference of the mean times per transaction as (more calls, slower calls), exactly.

    more = (n_slow − n_usual) · t̄_usual, slower = n_slow · (t̄_slow − t̄_usual). Without usual calls, all calls are new
    and the whole difference is `more`; without any calls, as in `other`, it is `slower`.
    """
    difference = Fraction(slow.time_ns) / Fraction(slow_n) - Fraction(usual.time_ns) / Fraction(usual_n)
    if usual.calls:
        more_calls = Fraction(slow.calls) / Fraction(slow_n) - Fraction(usual.calls) / Fraction(usual_n)
        more = more_calls * Fraction(usual.time_ns, usual.calls)
    else:
        more = difference if slow.calls else Fraction(0)
    return more, difference - more


def contribution(
    usual: Sums,
    usual_n: float,
    slow: Sums,
    slow_n: float,
    component: str = "",
    address: str = "",
    statement: str = "",
) -> Contribution:
    """One row of the answer, from exact sums."""
    more, slower = split(usual, usual_n, slow, slow_n)
    parts_ns = float(more + slower), float(more), float(slower)
    return Contribution(component, address, statement, *parts_ns, _cost(usual, usual_n), _cost(slow, slow_n))


def contributions(usual: Totals, slow: Totals) -> tuple[Contribution, ...]:
    """All parts of the difference, the largest first. They add up to the difference of the means, exactly."""
    before, now = usual.parts(), slow.parts()
    parts = [
        contribution(before.get(name, Sums()), usual.transactions, now.get(name, Sums()), slow.transactions, name)
        for name in {**before, **now}
    ]
    used = [each for each in parts if any((each.usual.calls, each.usual.time_ns, each.slow.calls, each.slow.time_ns))]
    return tuple(sorted(used, key=lambda each: -abs(each.difference_ns)))


def _cost(sums: Sums, transactions: float) -> Cost:
    return Cost(
        **asdict(sums),
        calls_per_transaction=sums.calls / transactions,
        mean_ns=sums.time_ns / transactions,
        per_call_ns=sums.time_ns / sums.calls if sums.calls else None,
    )
