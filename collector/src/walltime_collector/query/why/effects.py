"""What one value of a dimension (a host, a user) explains of a difference, and its p-value: see decision 037."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

SUPPORT = 20
"""A value with fewer transactions is not looked at, one with fewer slow ones not named; the rest has as many."""
BLOCKS = 32
"""Each window is cut into so many blocks of equal time."""
_JOINED = (1, 2)
"""The variance is that of blocks, and of pairs of blocks: the larger one counts."""


@dataclass(frozen=True)
class Cell:
    """
    Transactions of one block.

    `capped_ns` is their time when none counts as longer than a bound, `logarithms` the sum of those of their times.
    """

    transactions: int = 0
    total_ns: int = 0
    capped_ns: int = 0
    logarithms: float = 0.0

    def __add__(self, other: Cell) -> Cell:
        return Cell(
            self.transactions + other.transactions,
            self.total_ns + other.total_ns,
            self.capped_ns + other.capped_ns,
            self.logarithms + other.logarithms,
        )

    def __sub__(self, other: Cell) -> Cell:
        return self + Cell(-other.transactions, -other.total_ns, -other.capped_ns, -other.logarithms)

    @property
    def mean_ns(self) -> float:
        """Per transaction; 0 without any."""
        return self.total_ns / self.transactions if self.transactions else 0.0

    @property
    def is_enough(self) -> bool:
        """Whether it can be compared."""
        return self.transactions >= SUPPORT


@dataclass(frozen=True)
class Side:
    """A population by block: those of its transactions that have the value, and all."""

    mine: Mapping[int, Cell]
    all: Mapping[int, Cell]

    @property
    def total(self) -> Cell:
        """All transactions."""
        return sum(self.all.values(), Cell())

    @property
    def own(self) -> Cell:
        """Those with the value."""
        return sum(self.mine.values(), Cell())

    @property
    def rest(self) -> Cell:
        """Those without it."""
        return self.total - self.own

    @property
    def share(self) -> float:
        """Of those with the value."""
        return self.own.transactions / max(self.total.transactions, 1)


@dataclass(frozen=True)
class Effect:
    """
    A part of the difference in nanoseconds per transaction; the p-value is not corrected.

    `strength` orders values of which one is the cause, and others only share its transactions.
    """

    ns: float
    p_value: float
    strength: float


NONE = Effect(0.0, 1.0, 0.0)


@dataclass(frozen=True)
class _Estimate:
    size: float
    error: float
    freedom: float


def of_part(usual: Side, slow: Side) -> tuple[Effect, bool]:
    """
    Why those with the value are in a part (the slowest) more often than others, and whether their mean is higher.

    It explains those which would not be in it if transactions with the value were in it as rarely as the rest.
    """
    mine, rest = (slow.own, usual.own), (slow.rest, usual.rest)
    if not all((one + two).is_enough for one, two in (mine, rest)) or not slow.own.transactions:
        return NONE, False
    slow_part, rest_part = (one.transactions / (one + two).transactions for one, two in (mine, rest))
    difference_ns = slow.total.mean_ns - usual.total.mean_ns
    strata = [
        (block, own.transactions + slow_own.transactions, slow_own.transactions, every.transactions, slow_all)
        for block, own, slow_own, every, slow_all in _both(usual, slow)
    ]
    test = _contrast(strata)
    expected = sum(own * slow_all / every for _, own, _, every, slow_all in strata)
    # counts are not normal when few are expected: the square root makes them so
    strength = min(_strength(test), 2 * abs(math.sqrt(slow.own.transactions) - math.sqrt(expected)))
    excess_ns = slow.share * (1 - rest_part / slow_part) * difference_ns
    capped_ns = _contrast(_strata(_merged(usual, slow)))
    return Effect(excess_ns, math.erfc(strength / math.sqrt(2)), strength), capped_ns.size > 0


def between(usual: Side, slow: Side) -> tuple[Effect, Effect]:
    """
    The part because there are more of them than usual, and the part because they became slower than the rest did.

        more    (share − usual share) · (usual mean − usual mean of the rest)
        slower  share · (mean − the mean that they would have if they had changed like the rest)

    Like the rest is by as many milliseconds or by the same factor, whichever explains more. A value without usual
    transactions is compared with the rest of its own time, and all of that is `more`.
    """
    if not (slow.own.is_enough and usual.rest.is_enough):
        return NONE, NONE
    if not slow.rest.is_enough:
        # all have it: nothing is left to compare with, so the test of the two windows decides (dimensions.py)
        whole_ns = slow.total.mean_ns - usual.total.mean_ns
        return (Effect(whole_ns, 0.0, math.inf), NONE) if not usual.own.is_enough else (_more(usual, slow), NONE)
    now = _contrast(_strata(slow))
    if not usual.own.is_enough:
        part_ns = slow.share * (slow.own.mean_ns - slow.rest.mean_ns)
        # a new process begins with a few very long transactions, which hide all others in the sums of the times
        either = [each for each in (now, _contrast(_strata(slow, is_log=True))) if each.size * part_ns > 0]
        p_value, strength = min(map(_tested, either), default=(1.0, 0.0))
        return Effect(part_ns, min(2 * p_value, 1.0), strength), NONE
    before = _contrast(_strata(usual))
    factor = slow.rest.mean_ns / usual.rest.mean_ns if usual.rest.mean_ns else 1.0
    by_sum = slow.own.mean_ns - usual.own.mean_ns - (slow.rest.mean_ns - usual.rest.mean_ns)
    by_factor = slow.own.mean_ns - usual.own.mean_ns * factor
    slower_ns = slow.share * min(by_sum, by_factor, key=abs) if by_sum * by_factor > 0 else 0.0
    tests = [_tested(_minus(now, before, scale)) for scale in (1.0, factor)]
    p_value, strength = max(tests)[0], min(test[1] for test in tests)
    return _more(usual, slow), Effect(slower_ns, p_value, strength)


def relative_error(cells: Mapping[int, Cell]) -> float:
    """The standard error of the mean time as a part of it, when neighbours in time are alike."""
    whole = sum(cells.values(), Cell())
    return _ratio([(at, each.total_ns, each.transactions) for at, each in cells.items()]).error / (whole.mean_ns or 1.0)


def _more(usual: Side, slow: Side) -> Effect:
    """Because the share changed, at the usual times: both the share and the times must differ beyond chance."""
    shares = [
        _ratio([(at, side.mine.get(at, Cell()).transactions, each.transactions) for at, each in side.all.items()])
        for side in (slow, usual)
    ]
    tests = _tested(_minus(shares[0], shares[1], 1.0)), _tested(_contrast(_strata(usual)))
    part_ns = (slow.share - usual.share) * (usual.own.mean_ns - usual.rest.mean_ns)
    return Effect(part_ns, max(test[0] for test in tests), min(test[1] for test in tests))


def _strata(side: Side, *, is_log: bool = False) -> Iterator[tuple[int, float, float, float, float]]:
    for block, every in side.all.items():
        own = side.mine.get(block, Cell())
        sums = (own.logarithms, every.logarithms) if is_log else (own.capped_ns, every.capped_ns)
        yield block, own.transactions, sums[0], every.transactions, sums[1]


def _contrast(strata: Iterable[tuple[int, float, float, float, float]]) -> _Estimate:
    """
    By how much the mean of those with the value is above that of the rest, each block compared with itself.

    What changes for all from block to block (load, noise of the machine) cancels.

    Args:
        strata: Block, transactions and sum with the value, transactions and sum of all.
    """
    rows = [
        (block, own_sum - own * every_sum / every, own * (every - own) / every)
        for block, own, own_sum, every, every_sum in strata
        if 0 < own < every
    ]
    return _ratio(rows)


def _ratio(rows: Iterable[tuple[int, float, float]]) -> _Estimate:
    """Σ second / Σ third of each row, and its error when the blocks, the first, are independent."""
    listed = list(rows)
    whole = sum(weight for _, _, weight in listed)
    if not whole:
        return _Estimate(0.0, math.inf, 1.0)
    size = sum(amount for _, amount, _ in listed) / whole
    error, freedom = 0.0, math.inf
    for joined in _JOINED:
        clusters: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for block, amount, weight in listed:
            clusters[block // joined][0] += amount
            clusters[block // joined][1] += weight
        effective = whole * whole / sum(weight * weight for _, weight in clusters.values())
        if effective < 2:
            return _Estimate(size, math.inf, 1.0)
        residuals = sum((amount - size * weight) ** 2 for amount, weight in clusters.values())
        error = max(error, math.sqrt(residuals * effective / (effective - 1)) / whole)
        freedom = min(freedom, effective - 1)
    return _Estimate(size, error, freedom)


def _minus(one: _Estimate, two: _Estimate, scale: float) -> _Estimate:
    errors = one.error**2, (scale * two.error) ** 2
    whole = sum(errors)
    freedom = 1.0
    if 0 < whole < math.inf:  # Welch and Satterthwaite
        freedom = whole**2 / (errors[0] ** 2 / one.freedom + errors[1] ** 2 / two.freedom)
    return _Estimate(one.size - scale * two.size, math.sqrt(whole), freedom)


def _tested(estimate: _Estimate) -> tuple[float, float]:
    strength = _strength(estimate)
    return math.erfc(strength / math.sqrt(2)), strength


def _strength(estimate: _Estimate) -> float:
    """Student's t as standard deviations of a normal distribution (Wallace 1959)."""
    if estimate.error == 0:
        return math.inf if estimate.size else 0.0
    t, freedom = estimate.size / estimate.error, estimate.freedom
    return (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(t * t / freedom))


def _both(usual: Side, slow: Side) -> Iterator[tuple[int, Cell, Cell, Cell, int]]:
    """Of a window that both share: block, own usual and slow, all, and how many of all are slow."""
    none = Cell()
    for block in sorted({*usual.all, *slow.all}):
        slow_all = slow.all.get(block, none)
        every = slow_all + usual.all.get(block, none)
        yield block, usual.mine.get(block, none), slow.mine.get(block, none), every, slow_all.transactions


def _merged(usual: Side, slow: Side) -> Side:
    mine, every = (
        {at: one.get(at, Cell()) + two.get(at, Cell()) for at in {*one, *two}}
        for one, two in ((usual.mine, slow.mine), (usual.all, slow.all))
    )
    return Side(mine, every)
