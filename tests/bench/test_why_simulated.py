"""The simulation of `make bench-why`: its truth is the truth, and its judgement finds what is false."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine

from tests.bench.why_simulated import changed, unchanged
from tests.bench.why_simulated.pairs import judge, prepared, tasks
from tests.bench.why_simulated.report import markdown, wilson

DRAWS = 20_000


@pytest.fixture(scope="module")
def engine() -> Iterator[EmbeddedEngine]:
    with prepared() as made:
        yield made


def test_nothing_is_claimed_where_nothing_changed(engine: EmbeddedEngine) -> None:
    (task,) = tasks("lognormal 0.5", range(5), 1)
    answers = judge(task, engine)
    assert [each.false for each in answers] == [()] * 5
    assert "| lognormal 0.5 | 5 | 0.0 % (0.0–43.4) | 0 |  |" in markdown({"lognormal 0.5": answers})


def test_what_changed_is_named_and_its_size_is_that_of_the_population(engine: EmbeddedEngine) -> None:
    task, *_ = tasks("N+1", range(3), 1, DRAWS)
    (answer,) = judge(task, engine)
    assert answer.is_named
    assert answer.false == ()
    assert answer.is_inside


def test_an_answer_about_something_else_is_false(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    task, *_ = tasks("N+1", range(1), 1, DRAWS)
    nothing = replace(changed.CHANGES["N+1"], names=lambda _: "FROM carts", true=lambda _: "FROM carts")
    monkeypatch.setitem(changed.CHANGES, "N+1", nothing)
    (answer,) = judge(task, engine)
    assert answer.false
    assert not answer.is_named
    assert "**0.0 %**" in markdown({"N+1": [answer]})


def test_a_bill_adds_up_and_the_same_seed_makes_the_same_pair() -> None:
    for name in unchanged.FAMILIES:
        one, two = (unchanged.family(name)(np.random.default_rng(3)) for _ in range(2))
        assert (one.duration_ns == two.duration_ns).all()
        assert (one.duration_ns == one.covered_ns + one.other_ns).all()
        assert one.requests.is_slow.sum() >= unchanged.FEWEST


@pytest.mark.parametrize(("name", "factor"), [("+10 % at 500", 1.1), ("+50 % at 30", 1.5)])
def test_a_page_is_slower_by_what_its_change_says(name: str, factor: float) -> None:
    for variant in range(2):
        bills = changed.population(name, variant, 200_000)
        slow, usual = (bills.duration_ns[bills.requests.is_slow == side].mean() for side in (True, False))
        assert slow / usual == pytest.approx(factor, rel=0.02)


def test_the_interval_of_a_share() -> None:
    assert wilson(1, 10) == pytest.approx((0.0179, 0.4042), abs=1e-4)  # Wilson's score interval, as R's prop.test
