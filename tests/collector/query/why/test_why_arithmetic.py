"""The arithmetic of `why`, without a database: the parts are the whole, exactly, and chance is told from change."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.query.components import Sums
from walltime_collector.query.statistics.estimates import slope
from walltime_collector.query.why.arithmetic import Totals, contributions, split

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
    difference = Fraction(slow.total_ns) / Fraction(slow.transactions)
    difference -= Fraction(usual.total_ns) / Fraction(usual.transactions)
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
