"""The moment at which a server became worse: found where there is one, and not in noise."""

from __future__ import annotations

import random

import pytest
from walltime_collector.query.components import Sums
from walltime_collector.query.scope import Steps
from walltime_collector.query.servers.moments import moments

STEPS = Steps(1_000_000_000_000, 10, 60)


def lookups(ratio: float, calls: int, chance: random.Random, mean_ns: int = 200_000) -> Sums:
    hits = sum(chance.random() < ratio for _ in range(calls))
    time_ns = int(mean_ns * calls * chance.uniform(0.9, 1.1))
    return Sums(calls=calls, time_ns=time_ns, hits=hits, misses=calls - hits)


@pytest.mark.parametrize("usual", [1.0, 0.95, 0.6])
def test_a_restart_is_found_where_it_began(usual: float) -> None:
    chance = random.Random(3)
    sums = [lookups(usual, 200, chance) for _ in range(60)]
    for at, ratio in enumerate((0.02, 0.1, 0.2, 0.3, 0.4), 30):
        sums[at] = lookups(ratio, 200, chance)
    (moment,) = moments(sums, STEPS)
    assert moment.measure == "hit_ratio"
    assert (moment.start_ns, moment.end_ns) == (STEPS.at_ns(30), STEPS.at_ns(35))
    assert moment.is_over
    assert moment.value < 0.1
    assert moment.usual == pytest.approx(usual, abs=0.05)


def test_a_server_that_is_still_slow_is_found_and_gaps_do_not_end_it() -> None:
    chance = random.Random(4)
    sums = [lookups(0.9, 100, chance, mean_ns=200_000 if at < 50 else 2_000_000) for at in range(60)]
    sums[55] = Sums()
    (moment,) = moments(sums, STEPS)
    assert moment.measure == "time_per_call"
    assert (moment.start_ns, moment.is_over) == (STEPS.at_ns(50), False)


def test_the_bad_time_may_be_half_of_what_is_known() -> None:
    sums = [Sums()] * 54 + [Sums(calls=200, time_ns=10**8, hits=200 - misses, misses=misses) for misses in
                            (1, 0, 2, 190, 120, 60)]  # fmt: skip
    (moment,) = moments(sums, STEPS)
    assert (moment.measure, moment.start_ns, moment.is_over) == ("hit_ratio", STEPS.at_ns(57), False)
    assert (moment.value, moment.usual) == (0.05, 0.995)


def test_a_cache_that_is_filled_for_the_first_time_is_no_moment_but_a_later_restart_is() -> None:
    filling = [Sums(calls=200, time_ns=10**8, hits=hits, misses=200 - hits) for hits in (60, 120, 170)]
    full = [Sums(calls=200, time_ns=10**8, hits=198, misses=2)]
    assert moments([Sums()] * 20 + filling + full * 37, STEPS) == ()
    (moment,) = moments([Sums()] * 20 + filling + full * 10 + filling + full * 24, STEPS)
    assert (moment.start_ns, moment.end_ns) == (STEPS.at_ns(33), STEPS.at_ns(36))
    (moment,) = moments(filling + full * 57, STEPS)  # what was before the window is not known
    assert (moment.start_ns, moment.end_ns) == (STEPS.at_ns(0), STEPS.at_ns(3))


def test_errors_are_found() -> None:
    sums = [Sums(calls=100, time_ns=10**8, errors=30 * (at == 20)) for at in range(60)]
    (moment,) = moments(sums, STEPS)
    assert (moment.measure, moment.value, moment.usual) == ("errors_per_call", 0.3, 0)


@pytest.mark.parametrize("calls", [3, 12, 50, 2_000])
def test_noise_is_no_moment(calls: int) -> None:
    chance = random.Random(calls)
    for _ in range(50):
        ratio = chance.uniform(0.3, 1)
        assert moments([lookups(ratio, calls, chance) for _ in range(60)], STEPS) == ()


def test_the_mean_of_few_calls_of_very_different_length_is_no_moment() -> None:
    chance = random.Random(8)
    for _ in range(50):
        sums = [Sums(calls=30, time_ns=int(sum(chance.lognormvariate(16, 0.7) for _ in range(30)))) for _ in range(60)]
        assert moments(sums, STEPS) == ()


def test_nothing_is_no_moment() -> None:
    assert moments([Sums()] * 60, STEPS) == ()
    assert moments([], STEPS) == ()


def test_a_server_that_is_slow_in_half_of_the_window_is_found() -> None:
    chance = random.Random(9)
    sums = [lookups(0.9, 200, chance, mean_ns=200_000 if at < 30 else 900_000) for at in range(60)]
    (moment,) = moments(sums, STEPS)
    assert (moment.measure, moment.start_ns, moment.end_ns) == ("time_per_call", STEPS.at_ns(30), STEPS.at_ns(60))
