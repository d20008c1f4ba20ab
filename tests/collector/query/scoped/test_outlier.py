"""The part of a window that stands out: found where a cause is, and nowhere in noise."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from walltime_collector.query.scoped.distribution import Cell, Distribution, bin_of
from walltime_collector.query.scoped.outlier import outlier

MS = 1_000_000
STEPS = 60


def made(durations_ns: Callable[[int, random.Random], list[int]], seed: int = 1) -> Distribution:
    """A distribution of 60 steps of 30 s, from the durations of each."""
    makes = random.Random(seed)
    counted: dict[tuple[int, int], list[int]] = {}
    for step in range(STEPS):
        for duration_ns in durations_ns(step, makes):
            counted.setdefault((step, bin_of(duration_ns)), []).append(duration_ns)
    cells = tuple(Cell(step, number, len(each), sum(each)) for (step, number), each in sorted(counted.items()))
    return Distribution(0, 30, STEPS, cells)


def usual(makes: random.Random, transactions: int, factor: float = 1.0) -> list[int]:
    """Log-normal around 10 ms, one in 200 up to 30 times as long."""
    return [
        round(factor * 10 * MS * makes.lognormvariate(0, 0.5) * (makes.uniform(2, 30) if makes.random() < 0.005 else 1))
        for _ in range(transactions)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_slow_minutes_stand_out_whole(seed: int) -> None:
    result = outlier(made(lambda step, makes: usual(makes, 200, 2.5 if 20 <= step < 26 else 1.0), seed))
    assert result is not None
    assert (result.start_ns, result.end_ns) == (20 * 30 * 10**9, 26 * 30 * 10**9)
    assert result.transactions == 6 * 200
    assert 2 < result.mean_ns / result.usual_mean_ns < 3


@pytest.mark.parametrize("transactions", [12, 100, 400])
def test_noise_has_no_outlier(transactions: int) -> None:
    reported = [outlier(made(lambda step, makes: usual(makes, transactions), seed)) for seed in range(10)]
    assert sum(each is not None for each in reported) <= 1


def test_a_step_with_too_few_transactions_does_not_end_it() -> None:
    def slow_around_a_gap(step: int, makes: random.Random) -> list[int]:
        return usual(makes, 3 if step == 22 else 200, 2.5 if 20 <= step < 26 else 1.0)

    result = outlier(made(slow_around_a_gap))
    assert result is not None
    assert (result.start_ns, result.end_ns) == (20 * 30 * 10**9, 26 * 30 * 10**9)
    assert result.transactions == 5 * 200 + 3


def test_a_single_slow_transaction_is_no_slow_minute() -> None:
    assert outlier(made(lambda step, makes: usual(makes, 100) + [5_000 * MS] * (step == 30))) is None


def test_too_few_steps_or_transactions_are_not_judged() -> None:
    assert outlier(made(lambda step, makes: usual(makes, 100) if step < 5 else [])) is None
    assert outlier(made(lambda step, makes: usual(makes, 5, 10 if step == 3 else 1))) is None
