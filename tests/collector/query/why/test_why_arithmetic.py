"""The arithmetic of `why`, without a database: the parts are the whole, exactly, and chance is told from change."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.query.components import Sums
from walltime_collector.query.statistics.slope import slope
from walltime_collector.query.why.arithmetic import Totals, contributions, split
from walltime_collector.query.why.chance import Block, judge, transactions_per_block

MS = 1_000_000

counts = st.integers(min_value=0, max_value=10**9)
sums = st.builds(Sums, calls=counts, time_ns=st.integers(min_value=0, max_value=10**18))
populations = st.builds(
    lambda transactions, other_ns, components, overlap_ns: Totals(
        transactions,
        other_ns + sum(each.time_ns for each in components.values()) - overlap_ns,
        other_ns,
        components,
    ),
    transactions=st.integers(min_value=1, max_value=10**9),
    other_ns=st.integers(min_value=0, max_value=10**18),
    components=st.dictionaries(st.sampled_from(["mysql.query", "memcache.get", "http.request", "render"]), sums),
    overlap_ns=st.integers(min_value=-(10**12), max_value=10**12),
)


@given(usual=populations, slow=populations)
def test_the_parts_add_up_to_the_whole_difference(usual: Totals, slow: Totals) -> None:
    before, now = usual.parts(), slow.parts()
    exact = sum(
        sum(split(before.get(name, Sums()), usual.transactions, now.get(name, Sums()), slow.transactions), Fraction(0))
        for name in {**before, **now}
    )
    difference = Fraction(slow.total_ns, slow.transactions) - Fraction(usual.total_ns, usual.transactions)
    assert exact == difference

    shown = contributions(usual, slow)
    gross = sum(abs(each.difference_ns) for each in shown)
    assert sum(each.difference_ns for each in shown) == pytest.approx(float(difference), abs=1e-9 * gross + 1e-9)
    for each in shown:
        assert each.more_ns + each.slower_ns == pytest.approx(
            each.difference_ns, abs=1e-9 * (abs(each.more_ns) + abs(each.slower_ns)) + 1e-9
        )


@given(usual=populations, slow=populations)
def test_comparing_the_other_way_round_turns_every_sign(usual: Totals, slow: Totals) -> None:
    forth = {each.component: each.difference_ns for each in contributions(usual, slow)}
    back = {each.component: -each.difference_ns for each in contributions(slow, usual)}
    assert forth == back


@given(usual=populations)
def test_a_population_differs_in_nothing_from_itself(usual: Totals) -> None:
    assert all((each.difference_ns, each.more_ns, each.slower_ns) == (0, 0, 0) for each in contributions(usual, usual))


def test_more_calls_at_the_same_speed_differ_from_slower_calls_at_the_same_number() -> None:
    usual = Sums(calls=200, time_ns=100 * MS)  # 2 calls of 0.5 ms each for 100 transactions

    assert list(split(usual, 100, Sums(calls=450, time_ns=225 * MS), 50)) == [7 * MS // 2, 0]
    assert list(split(usual, 100, Sums(calls=100, time_ns=250 * MS), 50)) == [0, 4 * MS]
    assert list(split(usual, 100, Sums(calls=450, time_ns=450 * MS), 50)) == [7 * MS // 2, 9 * MS // 2]


def test_new_calls_are_more_calls_and_calls_that_stopped_are_fewer() -> None:
    made = Sums(calls=30, time_ns=60 * MS)

    assert list(split(Sums(), 10, made, 10)) == [6 * MS, 0]
    assert list(split(made, 10, Sums(), 10)) == [-6 * MS, 0]


def test_time_without_calls_can_only_be_longer() -> None:
    assert list(split(Sums(time_ns=10 * MS), 10, Sums(time_ns=30 * MS), 10)) == [0, 2 * MS]
    assert list(split(Sums(time_ns=10 * MS), 10, Sums(calls=3, time_ns=30 * MS), 10)) == [2 * MS, 0]


def test_calls_that_ran_at_once_are_a_part_of_their_own_that_takes_time_away() -> None:
    one_by_one = Totals(10, 100 * MS, 20 * MS, {"http.request": Sums(20, 80 * MS)})
    at_once = Totals(10, 60 * MS, 20 * MS, {"http.request": Sums(20, 80 * MS)})

    assert {
        each.component: each.difference_ns for each in contributions(one_by_one, at_once) if each.difference_ns
    } == {"overlap": -4 * MS}


@given(follow=st.integers(0, 5), seed=st.integers(0, 1000))
def test_a_slope_is_seen_within_the_groups_not_between_them(follow: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    group, x = rng.integers(0, 4, 200), rng.integers(0, 10, 200)
    found = slope(x.astype(np.float64), (7 * group + follow * x).astype(np.float64), group, np.arange(200))
    assert found.size == pytest.approx(follow)
    assert found.error == pytest.approx(0, abs=1e-9)


def test_the_error_of_a_slope_is_that_of_repetitions_also_when_neighbours_are_alike() -> None:
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(60), 10)
    found = []
    for _ in range(300):
        x = rng.normal(size=600) + rng.normal(size=60)[clusters]
        y = rng.exponential(size=600) + rng.normal(size=60)[clusters]
        found.append(slope(x, y, np.zeros(600, np.int64), clusters))
    sizes, errors = (np.array([getattr(each, name) for each in found]) for name in ("size", "error"))
    assert np.mean(errors) == pytest.approx(np.std(sizes), rel=0.15)
    assert np.mean(np.abs(sizes) > 3.5 * errors) <= 0.01


def test_a_slope_of_few_that_vary_is_not_known() -> None:
    x = np.array([0.0] * 995 + [1.0] * 5)
    assert math.isinf(slope(x, x, np.zeros(1000, np.int64), np.arange(1000)).error)


def blocks(seed: int, number: int, mean_ns: float = 5 * MS, *, tail: float = 0.0, slow_for: int = 0) -> list[Block]:
    """Blocks of ten transactions; with `tail` some take very long, with `slow_for` the first so many twice as long."""
    chosen = random.Random(seed)
    made = []
    for at in range(number):
        times = [mean_ns * chosen.lognormvariate(-0.08, 0.4) * (2 if at < slow_for else 1) for _ in range(10)]
        times = [each * (chosen.paretovariate(1.2) * 5 if chosen.random() < tail else 1) for each in times]
        made.append(Block(10, round(sum(times))))
    return made


@pytest.mark.parametrize("tail", [0.0, 0.01])
def test_the_same_mean_is_chance_at_least_19_times_of_20_whatever_the_tails(tail: float) -> None:
    judged = [judge(blocks(2 * at, 320, tail=tail), blocks(2 * at + 1, 64, tail=tail)) for at in range(20)]
    assert sum(not each.explains_it for each in judged) <= 1


def test_one_and_a_half_times_the_usual_time_is_never_called_chance() -> None:
    judged = [judge(blocks(2 * at, 320), blocks(2 * at + 1, 64, 7.5 * MS)) for at in range(20)]
    assert not any(each.explains_it for each in judged)
    assert all(each.low_ns < 2.5 * MS * 1.2 and each.high_ns > 2.5 * MS * 0.8 for each in judged)


def test_one_enormous_transaction_is_no_change() -> None:
    usual, slow = blocks(1, 320), blocks(2, 64)
    slow[20] = Block(10, slow[20].total_ns + 30_000 * MS)

    judged = judge(usual, slow)
    assert judged.difference_ns > 40 * MS
    assert judged.explains_it


def test_a_disturbance_that_lasts_a_tenth_of_the_time_is_a_change() -> None:
    assert not judge(blocks(1, 320), blocks(2, 64, slow_for=6)).p_value > 0.01


def test_a_usual_time_that_goes_up_and_down_by_itself_needs_more_to_be_called_changed() -> None:
    """Half minutes of sun, half minutes of rain: every stretch is clearly different, and that is the usual thing."""
    weather = [0.7, 1.3, 0.8, 1.2, 0.75, 1.25]
    usual = [each for at, factor in enumerate(weather) for each in blocks(at, 32, 5 * MS * factor)]
    slow = blocks(99, 32, 5 * MS * 1.3)

    assert judge(usual, slow).explains_it
    assert not judge(usual, blocks(99, 32, 5 * MS * 4)).explains_it


def test_one_bad_stretch_in_the_usual_time_does_not_hide_the_next_one() -> None:
    usual = [*blocks(1, 64, 20 * MS), *blocks(2, 256, 5 * MS)]  # a cold start, then four usual minutes
    assert not judge(usual, blocks(3, 64, 20 * MS)).explains_it


def test_the_same_blocks_always_get_the_same_answer() -> None:
    assert judge(blocks(1, 300), blocks(2, 50)) == judge(blocks(1, 300), blocks(2, 50))


@pytest.mark.parametrize(("usual", "slow", "held"), [(10, 10, 1), (64_000, 640, 10), (640, 10**6, 10), (1, 1, 1)])
def test_blocks_hold_as_many_transactions_on_both_sides(usual: int, slow: int, held: int) -> None:
    assert transactions_per_block(usual, slow) == held
