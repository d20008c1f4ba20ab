"""Whether two groups of durations differ: simulated with known truth: any tails, bursts, drifts and rhythms."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from walltime_collector.query.statistics import blocks as of_blocks
from walltime_collector.query.statistics.blocks import blocks, compare
from walltime_collector.query.statistics.multiple import holm
from walltime_collector.query.statistics.tails import bound

from tests.by_day import by_day

Values = NDArray[np.float64]
Random = np.random.Generator
Durations = Callable[[Random, int], Values]


def judge(usual: Values, slow: Values, apart: float = 0.625) -> of_blocks.Tested:
    """As `why` does it: without single transactions, in blocks of about equally many."""
    longest = max(bound(usual), bound(slow))
    usual, slow = usual[usual <= longest], slow[slow <= longest]
    size = max(min(len(usual), len(slow)) // of_blocks.FINEST_BLOCKS, 1)
    return compare(blocks(usual, size), blocks(slow, size), apart)


def lognormal(sigma: float) -> Durations:
    return lambda rng, count: rng.lognormal(0, sigma, count)


def pareto(alpha: float) -> Durations:
    return lambda rng, count: rng.pareto(alpha, count) + 1


def bimodal(rng: Random, count: int) -> Values:
    return np.where(rng.random(count) < 0.2, 10, 1) * rng.lognormal(0, 0.3, count)


def with_outliers(rng: Random, count: int) -> Values:
    return rng.lognormal(0, 0.5, count) * np.where(rng.random(count) < 0.005, 10 ** rng.uniform(1, 3, count), 1)


def autocorrelated(rng: Random, count: int) -> Values:
    steps = np.repeat(rng.normal(0, 0.1, count // 10 + 1), 10)[:count]
    return rng.lognormal(0, 0.4, count) * np.exp(steps)


UNCHANGED = {
    "lognormal 0.5": lognormal(0.5),
    "lognormal 2": lognormal(2),
    "Pareto 1.2": pareto(1.2),
    "bimodal": bimodal,
    "outliers": with_outliers,
    "autocorrelated": autocorrelated,
}
PAIRS, PAIRS_BY_NIGHT = 150, 2_000


@pytest.mark.parametrize("name", UNCHANGED)
@pytest.mark.parametrize("pairs", by_day([PAIRS, PAIRS_BY_NIGHT], 2))
def test_what_did_not_change_is_chance_in_99_of_100(name: str, pairs: int) -> None:
    rng = np.random.default_rng(7)
    false = 0
    for _ in range(pairs):
        slow = int(20 * 100 ** rng.random())
        usual = int(slow * rng.uniform(1, 4))
        false += not judge(UNCHANGED[name](rng, usual), UNCHANGED[name](rng, slow)).is_chance
    assert false <= pairs * 0.01 + 2 * math.sqrt(pairs * 0.01)


def test_ten_per_cent_of_500_and_a_half_of_30_are_seen_and_the_interval_has_the_truth() -> None:
    rng = np.random.default_rng(8)
    for sigma, factor, usual, slow in ((0.3, 1.1, 2000, 500), (0.3, 1.5, 300, 30)):
        truth = math.exp(sigma**2 / 2) * (factor - 1)
        judged = [judge(rng.lognormal(0, sigma, usual), factor * rng.lognormal(0, sigma, slow)) for _ in range(100)]
        assert sum(not each.is_chance for each in judged) >= 92
        assert sum(each.low <= truth <= each.high for each in judged) >= 92


def test_one_enormous_transaction_neither_is_a_change_nor_hides_one() -> None:
    rng = np.random.default_rng(9)
    usual, slow, changed = rng.lognormal(0, 0.3, 3000), rng.lognormal(0, 0.3, 300), 1.5 * rng.lognormal(0, 0.3, 300)
    usual[1500] = slow[100] = 3000.0
    assert judge(usual, slow).is_chance
    assert not judge(usual, changed).is_chance


def test_a_burst_of_an_eighth_of_the_time_is_chance_and_a_third_of_it_is_a_change() -> None:
    rng = np.random.default_rng(10)
    usual = rng.lognormal(0, 0.3, 1600)
    for length, is_chance in ((50, True), (140, False)):
        slow = rng.lognormal(0, 0.3, 400)
        slow[100 : 100 + length] *= 5
        assert judge(usual, slow).is_chance is is_chance


def test_a_trend_explains_what_goes_on_in_its_direction_only() -> None:
    rng = np.random.default_rng(11)
    rising = rng.lognormal(0, 0.2, 2000) * np.linspace(0.9, 1.1, 2000)
    assert judge(rising, 1.125 * rng.lognormal(0, 0.2, 500)).is_chance
    assert not judge(rising, 0.875 * rng.lognormal(0, 0.2, 500)).is_chance


def test_a_usual_time_that_goes_up_and_down_by_itself_needs_more_to_be_called_changed() -> None:
    rng = np.random.default_rng(12)
    waves = rng.lognormal(0, 0.2, 3200) * np.repeat(np.tile([1.0, 1.4], 8), 200)
    assert judge(waves, 1.4 * rng.lognormal(0, 0.2, 200)).is_chance
    assert not judge(waves, 4 * rng.lognormal(0, 0.2, 800)).is_chance


def test_one_bad_stretch_in_the_usual_time_does_not_hide_the_next_one() -> None:
    rng = np.random.default_rng(13)
    usual = rng.lognormal(0, 0.2, 3200)
    usual[1000:1100] *= 4
    assert not judge(usual, 4 * rng.lognormal(0, 0.2, 400)).is_chance


def test_the_same_values_always_get_the_same_answer() -> None:
    usual, slow = lognormal(1)(np.random.default_rng(1), 300), lognormal(1)(np.random.default_rng(2), 50)
    assert judge(usual, slow) == judge(usual, slow)


@pytest.mark.parametrize(
    ("usual", "slow"), [([5.0] * 40, [5.0] * 40), ([0.0] * 12, [0.0] * 10), ([1.0] * 10, [2.0] * 10)]
)
def test_values_without_any_spread_are_judged(usual: list[float], slow: list[float]) -> None:
    judged = judge(np.array(usual), np.array(slow))
    assert judged.difference == slow[0] - usual[0]
    assert judged.is_chance is (usual[0] == slow[0])


def test_too_few_blocks_to_know_how_they_vary_are_chance() -> None:
    """Else an interval without end would be in an answer, which is no JSON."""
    judged = compare(np.array([[10.0, 100.0]] * 64), np.array([[30.0, 3000.0], [1.0, 1.0]]))
    assert judged.is_chance
    assert judged.p_value == 1.0


@pytest.mark.parametrize(("values", "size", "counts"), [(10, 1, [1] * 10), (10, 4, [5, 5]), (3, 10, [3])])
def test_blocks_hold_about_equally_many(values: int, size: int, counts: list[int]) -> None:
    cut = blocks(np.ones(values), size)
    assert cut[:, 0].tolist() == counts == cut[:, 1].tolist()


@pytest.mark.parametrize(
    ("durations", "expected"),
    [([1.0], math.inf), ([1.0] * 19 + [9.0], 4.0), ([1.0] * 90 + [9.0] * 10, 36.0), ([2.0] * 1000, 8.0)],
)
def test_a_single_transaction_is_four_times_what_95_of_100_take(durations: list[float], expected: float) -> None:
    assert bound(np.array(durations)) == expected


def test_p_values_are_corrected_for_how_many_were_looked_at() -> None:
    assert holm([0.01, 0.001, 0.02, 0.9]) == pytest.approx([0.03, 0.004, 0.04, 0.9])
    assert holm([0.001], looked_at=100) == pytest.approx([0.1])
    assert holm([]) == []
