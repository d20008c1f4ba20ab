"""What is usual: chance is believed as rarely as promised, and bad samples of the past change little."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from walltime_collector.query.statistics.counts import exceeds
from walltime_collector.query.statistics.tails import capped
from walltime_collector.query.statistics.usual import is_higher, usual

CHANCE = 1e-3
PAIRS, SAMPLES, TRIES = 1_000, 30, 60


def drawn(rng: np.random.Generator, shape: str, size: tuple[int, ...]) -> NDArray[np.float64]:
    """Durations of a mean or median about 1."""
    if shape.startswith("lognormal"):
        return rng.lognormal(0, float(shape.split()[1]), size)
    if shape == "two humps":
        return np.where(rng.random(size) < 0.7, 0.25, 2.75) * rng.lognormal(0, 0.3, size)
    return rng.pareto(float(shape.split()[1]), size) + 1


@pytest.mark.parametrize(
    "shape", ["lognormal 0.5", "lognormal 1", "lognormal 2", "pareto 1.2", "pareto 2", "two humps"]
)
def test_chance_alone_is_rarely_believed_whatever_the_shape(shape: str) -> None:
    rng = np.random.default_rng(1)
    believed = 0
    for _ in range(PAIRS):
        values = drawn(rng, shape, (SAMPLES + 1, TRIES))
        sums = np.array([[TRIES, capped(each).sum()] for each in values])
        known = usual(sums[:-1], is_mean=True)
        assert known
        believed += is_higher(sums[-1, 1] / TRIES, TRIES, known, CHANCE)
    assert believed <= 0.01 * PAIRS


@pytest.mark.parametrize("shape", ["lognormal 0.5", "lognormal 1", "two humps", "pareto 2"])
def test_a_change_to_four_times_is_noticed(shape: str) -> None:
    rng = np.random.default_rng(2)
    noticed = 0
    for _ in range(200):
        sums = np.array([[TRIES, capped(each).sum()] for each in drawn(rng, shape, (SAMPLES, TRIES))])
        known = usual(sums, is_mean=True)
        assert known
        noticed += is_higher(4 * capped(drawn(rng, shape, (TRIES,))).mean(), TRIES, known, CHANCE)
    assert noticed >= 190


def test_bad_samples_of_the_past_do_not_change_what_is_usual() -> None:
    rng = np.random.default_rng(3)
    sums = np.column_stack([np.full(40, 60.0), 60 * rng.lognormal(0, 0.1, 40)])
    bad = sums.copy()
    bad[:10, 1] *= 1_000
    one, other = usual(sums, is_mean=True), usual(bad, is_mean=True)
    assert one
    assert other
    assert other.level == pytest.approx(one.level, rel=0.1)
    assert is_higher(3.0, 60, other, CHANCE)


def test_too_few_samples_know_nothing() -> None:
    sums = np.array([[60.0, 60.0]] * 4 + [[0.0, 0.0]] * 10)
    assert usual(sums, is_mean=True) is None


def test_the_largest_twentieth_decides_nothing() -> None:
    values = np.array([1.0] * 95 + [1e6] * 5)
    assert capped(values).tolist() == [1.0] * 100
    assert capped(np.append(values, [1e6] * 3)).max() == 1e6
    assert capped(np.append(values, [1e6] * 3), 3.0).max() == 1.0
    assert capped(np.array([7.0])).tolist() == [7.0]


@pytest.mark.parametrize("expected", [0.001, 0.05, 0.3])
def test_a_share_exceeds_by_chance_as_rarely_as_promised(expected: float) -> None:
    rng = np.random.default_rng(4)
    shares = rng.binomial(100, expected, 20_000) / 100
    assert sum(exceeds(share, expected, 100, 0.01) for share in shares) <= 0.01 * len(shares)
    assert exceeds(min(expected + 0.3, 1.0), expected, 100, 0.01)
