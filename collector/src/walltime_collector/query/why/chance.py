"""Tells a difference of two means from chance, from sums over stretches of time: docs/decisions/007 says why so."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

FEWEST = 10
"""Transactions a population must have: with fewer, chance looks like anything."""
FINEST_BLOCKS = 64
"""The smaller population is cut into so many stretches, or into its transactions."""
MOST_BLOCKS = 4096
"""Of the larger population so many stretches are looked at, spread over its whole time."""
CHANCE = 0.005
"""What chance alone makes more often than this is called chance; two things are looked at, times and calls."""
_DRIFTS = 4
"""So many times the usual drift is more than drift: about what one stretch in a hundred and fifty does."""
_FEWEST_STRETCHES = 4
_FEWEST_BLOCKS = 8
_SHUFFLES = 1_000
_RESAMPLES = 400
_RESAMPLED_BLOCKS = 128
_SEED = 20100531


@dataclass(frozen=True)
class Block:
    """A stretch of time: how many transactions started in it and how long they took in all."""

    transactions: int
    total_ns: int

    def __add__(self, other: Block) -> Block:
        return Block(self.transactions + other.transactions, self.total_ns + other.total_ns)


@dataclass(frozen=True)
class Chance:
    """What chance alone could do: `p_value` as a test, `low_ns` to `high_ns` as an interval of 95 %."""

    difference_ns: float
    p_value: float
    drift_ns: float
    """How far a stretch of the usual time with as many transactions as the slow one lies from the usual, typically."""
    low_ns: float
    high_ns: float

    @property
    def is_drift(self) -> bool:
        """The usual time goes up and down as much by itself."""
        return abs(self.difference_ns) < _DRIFTS * self.drift_ns

    @property
    def explains_it(self) -> bool:
        """Chance, or drift, is enough to explain the difference."""
        return self.p_value >= CHANCE or self.is_drift


@dataclass(frozen=True)
class Judged:
    """The difference of the times, and the one that the calls alone would make if each took its usual time."""

    times: Chance
    calls: Chance

    def calls_differ(self, small_ns: float) -> bool:
        """The calls differ beyond chance, by more than `small_ns`, and in the direction of the times."""
        is_same_way = self.calls.difference_ns * self.times.difference_ns > 0
        return is_same_way and abs(self.calls.difference_ns) >= small_ns and not self.calls.explains_it


def transactions_per_block(usual: int, slow: int) -> int:
    """How many transactions a stretch should hold in both populations, so that stretches can change places."""
    return max(min(usual, slow) // FINEST_BLOCKS, 1)


def judge(usual: Sequence[Block], slow: Sequence[Block]) -> Chance:
    """
    Judge the difference of the means, slow − usual; both in the order of time, about equally many transactions a block.

    The same blocks always get the same answer.
    """
    drift_ns = _drift_ns(usual, max(len(usual) // len(slow), _FEWEST_STRETCHES))
    usual, slow = _without_memory(list(usual), list(slow))
    chosen = random.Random(_SEED)
    p_value = _p_value(usual, slow, chosen)
    return Chance(_mean(slow) - _mean(usual), p_value, drift_ns, *_interval(usual, slow, chosen))


def _drift_ns(usual: Sequence[Block], stretches: int) -> float:
    """The middle distance of stretches from the middle one: one bad stretch among the usual ones changes nothing."""
    length = max(len(usual) // stretches, 1)
    means = [_mean(usual[at : at + length]) for at in range(0, len(usual) - length + 1, length)]
    middle = median(means)
    return median(abs(mean - middle) for mean in means)


def _mean(blocks: Sequence[Block]) -> float:
    return sum(block.total_ns for block in blocks) / sum(block.transactions for block in blocks)


def _without_memory(usual: list[Block], slow: list[Block]) -> tuple[list[Block], list[Block]]:
    """
    Join neighbours until the usual blocks say nothing about the next one any more.

    A machine that is slow for ten seconds makes neighbours alike; counted one by one they would be many witnesses of
    one thing. Only the usual time is looked at: that a disturbance lasts is no reason to believe in it less.
    """
    while min(len(usual), len(slow)) >= 2 * _FEWEST_BLOCKS and _memory(usual) > 1.7 / len(usual) ** 0.5:
        usual, slow = _pairs(usual), _pairs(slow)
    return usual, slow


def _pairs(blocks: list[Block]) -> list[Block]:
    pairs = [one + two for one, two in zip(blocks[::2], blocks[1::2], strict=False)]
    return [*pairs, blocks[-1]] if len(blocks) % 2 else pairs


def _memory(blocks: list[Block]) -> float:
    """How alike neighbours are: correlation of the ranks of their means, so that no single outlier decides."""
    means = [_mean([block]) for block in blocks]
    order = sorted(range(len(means)), key=means.__getitem__)
    middle = (len(order) - 1) / 2
    ranks = [0.0] * len(order)
    for rank, at in enumerate(order):
        ranks[at] = rank - middle
    spread = sum(rank * rank for rank in ranks)
    return sum(one * two for one, two in pairwise(ranks)) / spread


def _p_value(usual: list[Block], slow: list[Block], chosen: random.Random) -> float:
    """How often blocks dealt out blindly differ as much: exact whatever the tails, because outliers are dealt too."""
    blocks = [*usual, *slow]
    whole = sum(blocks, Block(0, 0))
    observed = abs(_difference(whole, sum(slow, Block(0, 0))))
    fewer = min(len(usual), len(slow))
    reached = 0
    for _ in range(_SHUFFLES):
        transactions = total_ns = 0
        for block in chosen.sample(blocks, fewer):
            transactions += block.transactions
            total_ns += block.total_ns
        reached += abs(_difference(whole, Block(transactions, total_ns))) >= observed * (1 - 1e-12)
    return (1 + reached) / (1 + _SHUFFLES)


def _difference(whole: Block, part: Block) -> float:
    rest = whole.transactions - part.transactions
    return part.total_ns / part.transactions - (whole.total_ns - part.total_ns) / rest


def _interval(usual: list[Block], slow: list[Block], chosen: random.Random) -> tuple[float, float]:
    """Both populations drawn again from their own blocks, many times: where the middle 95 % of the differences are."""
    usual_means, slow_means = _resampled(usual, chosen), _resampled(slow, chosen)
    differences = sorted(now - before for before, now in zip(usual_means, slow_means, strict=True))
    tail = round(_RESAMPLES * 0.025)
    return differences[tail], differences[-1 - tail]


def _resampled(blocks: list[Block], chosen: random.Random) -> list[float]:
    while len(blocks) > _RESAMPLED_BLOCKS:
        blocks = _pairs(blocks)
    means = []
    for _ in range(_RESAMPLES):
        drawn = chosen.choices(blocks, k=len(blocks))
        means.append(_mean(drawn))
    return means
