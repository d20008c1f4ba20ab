"""Tests whether chance explains a difference of two means, from sums over blocks of time; see docs/decisions/007."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

FEWEST = 10
"""Transactions that a population must have for a test."""
FINEST_BLOCKS = 64
"""The smaller population is cut into so many blocks, or into its transactions."""
MOST_BLOCKS = 4096
"""Of the larger population so many blocks are read, spread over its whole time."""
CHANCE = 0.005
"""A difference with a larger p-value is called chance; there are two tests, of times and of calls."""
_DRIFTS = 4
"""A difference up to so many times the usual drift is called drift; about one block in 150 exceeds it."""
_FEWEST_STRETCHES = 4
_FEWEST_BLOCKS = 8
_SHUFFLES = 1_000
_RESAMPLES = 400
_RESAMPLED_BLOCKS = 128
_SEED = 20100531


@dataclass(frozen=True)
class Block:
    """A block of time: how many transactions started in it, and how long they took in all."""

    transactions: int
    total_ns: int

    def __add__(self, other: Block) -> Block:
        return Block(self.transactions + other.transactions, self.total_ns + other.total_ns)


@dataclass(frozen=True)
class Chance:
    """The p-value of the test, and an interval of 95 % for the difference, `low_ns` to `high_ns`."""

    difference_ns: float
    p_value: float
    drift_ns: float
    """The typical distance from the usual mean of a part of the usual time that is as large as the slow population."""
    low_ns: float
    high_ns: float

    @property
    def is_drift(self) -> bool:
        """The usual time varies as much by itself."""
        return abs(self.difference_ns) < _DRIFTS * self.drift_ns

    @property
    def explains_it(self) -> bool:
        """Chance, or drift, is enough to explain the difference."""
        return self.p_value >= CHANCE or self.is_drift


@dataclass(frozen=True)
class Judged:
    """The tests of the times, and of the calls alone, each at its usual time."""

    times: Chance
    calls: Chance

    def calls_differ(self, small_ns: float) -> bool:
        """The calls differ beyond chance, by more than `small_ns`, and in the direction of the times."""
        is_same_way = self.calls.difference_ns * self.times.difference_ns > 0
        return is_same_way and abs(self.calls.difference_ns) >= small_ns and not self.calls.explains_it


def transactions_per_block(usual: int, slow: int) -> int:
    """The number of transactions in a block of both populations, so that blocks can be exchanged."""
    return max(min(usual, slow) // FINEST_BLOCKS, 1)


def judge(usual: Sequence[Block], slow: Sequence[Block]) -> Chance:
    """
    Test the difference of the means, slow − usual; both in the order of time, about equally many transactions a block.

    The result is deterministic: the random numbers have a fixed seed.
    """
    drift_ns = _drift_ns(usual, max(len(usual) // len(slow), _FEWEST_STRETCHES))
    usual, slow = _uncorrelated(list(usual), list(slow))
    rng = random.Random(_SEED)
    p_value = _p_value(usual, slow, rng)
    return Chance(_mean(slow) - _mean(usual), p_value, drift_ns, *_interval(usual, slow, rng))


def judge_one_of_many(usual: Sequence[Block], slow: Sequence[Block], *, most_shuffled: float) -> Chance:
    """
    The same, faster, and with p-values that can be corrected for many tests: shuffles cannot tell 1 in 1,000 from less.

    The p-value and the interval are normal approximations. A p-value below `most_shuffled` is that of the shuffles,
    unless none of them differs as much.
    """
    drift_ns = _drift_ns(usual, max(len(usual) // len(slow), _FEWEST_STRETCHES))
    usual, slow = _uncorrelated(list(usual), list(slow))
    blocks = [*usual, *slow]
    variance = _squares(blocks) * len(slow) * len(usual) / (len(blocks) * (len(blocks) - 1))
    mean_ns = _mean(blocks)
    excess_ns = sum(each.total_ns - mean_ns * each.transactions for each in slow)
    p_value = math.erfc(abs(excess_ns) / math.sqrt(2 * variance)) if variance else 1.0
    if p_value < most_shuffled:
        shuffled = _p_value(usual, slow, random.Random(_SEED))
        p_value = shuffled if shuffled > 1 / (1 + _SHUFFLES) else min(p_value, shuffled)
    difference_ns, error_ns = _mean(slow) - _mean(usual), 1.96 * math.hypot(_error(usual), _error(slow))
    return Chance(difference_ns, p_value, drift_ns, difference_ns - error_ns, difference_ns + error_ns)


def _squares(blocks: Sequence[Block]) -> float:
    mean_ns = _mean(blocks)
    return sum((each.total_ns - mean_ns * each.transactions) ** 2 for each in blocks)


def _error(blocks: Sequence[Block]) -> float:
    """The standard error of the mean."""
    correction = len(blocks) / max(len(blocks) - 1, 1)
    return math.sqrt(_squares(blocks) * correction) / sum(each.transactions for each in blocks)


def _drift_ns(usual: Sequence[Block], stretches: int) -> float:
    """The median distance of parts of the usual time from their median: one bad part changes nothing."""
    length = max(len(usual) // stretches, 1)
    means = [_mean(usual[at : at + length]) for at in range(0, len(usual) - length + 1, length)]
    middle = median(means)
    return median(abs(mean - middle) for mean in means)


def _mean(blocks: Sequence[Block]) -> float:
    return sum(block.total_ns for block in blocks) / sum(block.transactions for block in blocks)


def _uncorrelated(usual: list[Block], slow: list[Block]) -> tuple[list[Block], list[Block]]:
    """
    Join neighbours until consecutive blocks of the usual time are not correlated any more.

    A machine that is slow for ten seconds makes neighbours alike; tested one by one they would count as independent.
    Only the usual time decides: a disturbance that lasts is not less significant.
    """
    while min(len(usual), len(slow)) >= 2 * _FEWEST_BLOCKS and _autocorrelation(usual) > 1.7 / len(usual) ** 0.5:
        usual, slow = _pairs(usual), _pairs(slow)
    return usual, slow


def _pairs(blocks: list[Block]) -> list[Block]:
    pairs = [one + two for one, two in zip(blocks[::2], blocks[1::2], strict=False)]
    return [*pairs, blocks[-1]] if len(blocks) % 2 else pairs


def _autocorrelation(blocks: list[Block]) -> float:
    """The correlation of neighbours, by the ranks of their means, so that no single outlier decides."""
    means = [_mean([block]) for block in blocks]
    order = sorted(range(len(means)), key=means.__getitem__)
    middle = (len(order) - 1) / 2
    ranks = [0.0] * len(order)
    for rank, at in enumerate(order):
        ranks[at] = rank - middle
    spread = sum(rank * rank for rank in ranks)
    return sum(one * two for one, two in pairwise(ranks)) / spread


def _p_value(usual: list[Block], slow: list[Block], rng: random.Random) -> float:
    """A permutation test: how often blocks that are assigned at random differ as much."""
    blocks = [*usual, *slow]
    whole = sum(blocks, Block(0, 0))
    observed = abs(_difference(whole, sum(slow, Block(0, 0))))
    fewer = min(len(usual), len(slow))
    reached = 0
    for _ in range(_SHUFFLES):
        transactions = total_ns = 0
        for block in rng.sample(blocks, fewer):
            transactions += block.transactions
            total_ns += block.total_ns
        reached += abs(_difference(whole, Block(transactions, total_ns))) >= observed * (1 - 1e-12)
    return (1 + reached) / (1 + _SHUFFLES)


def _difference(whole: Block, part: Block) -> float:
    rest = whole.transactions - part.transactions
    return part.total_ns / part.transactions - (whole.total_ns - part.total_ns) / rest


def _interval(usual: list[Block], slow: list[Block], rng: random.Random) -> tuple[float, float]:
    """A bootstrap: the middle 95 % of the differences when both populations are resampled."""
    usual_means, slow_means = _resampled(usual, rng), _resampled(slow, rng)
    differences = sorted(now - before for before, now in zip(usual_means, slow_means, strict=True))
    tail = round(_RESAMPLES * 0.025)
    return differences[tail], differences[-1 - tail]


def _resampled(blocks: list[Block], rng: random.Random) -> list[float]:
    while len(blocks) > _RESAMPLED_BLOCKS:
        blocks = _pairs(blocks)
    means = []
    for _ in range(_RESAMPLES):
        drawn = rng.choices(blocks, k=len(blocks))
        means.append(_mean(drawn))
    return means
