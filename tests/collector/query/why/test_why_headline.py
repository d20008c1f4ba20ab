"""What the first sentence of `why` says: the difference, how certain it is, and what is typical."""

from __future__ import annotations

from dataclasses import replace

import pytest
from walltime_collector.query.statistics import blocks
from walltime_collector.query.why.answer import Population, Singles, Verdict, Why
from walltime_collector.query.why.sentences import headline, of_calls_alone

MS = 1_000_000
SOMEBODY = Population("", "", 100, 0, 500 * MS, 5 * MS, 5 * MS, 9 * MS, 9 * MS, 9 * MS, None, None, None, None)
TOLD = blocks.Tested(4.0 * MS, 0.0004, 0.0, 0.0, 0.5 * MS, 3.0 * MS, 5.0 * MS)
DRIFT = replace(TOLD, drift=3.5 * MS)
GUESS = replace(TOLD, p_value=0.2)


def answer(verdict: Verdict, usual: Population = SOMEBODY, slow: Population | None = None) -> Why:
    return Why(
        service="shop",
        name="GET /",
        verdict=verdict,
        headline="",
        sentences=(),
        slowest_percent=50.0 if verdict == "selected" else None,
        threshold_ns=0,
        usual=usual,
        slow=slow or replace(SOMEBODY, mean_ns=9 * MS),
        difference_ns=4.0 * MS,
        typical_ns=4.0 * MS,
        p_value=None,
        calls_p_value=None,
        drift_ns=None,
        low_ns=None,
        high_ns=None,
        components=(),
        targets=(),
        statements=(),
        usual_examples=(),
        slow_examples=(),
    )


@pytest.mark.parametrize(
    ("verdict", "tested", "said"),
    [
        ("different", TOLD, "5.00 ms → 9.00 ms (+4.00 ms)."),
        ("chance", GUESS, "(+4.00 ms): no difference beyond chance (p = 0.2)."),
        ("chance", DRIFT, "no difference beyond chance (the usual time goes up and down as much by itself)."),
        ("small", TOLD, "(+4.00 ms): more than chance, but little."),
        ("too_few", None, "but with 100 transactions against 100, this can be chance."),
        ("selected", None, "the slowest 50 % take 9.00 ms, the others 5.00 ms (+4.00 ms)."),
    ],
)
def test_the_headline_states_how_certain_it_is(verdict: Verdict, tested: blocks.Tested | None, said: str) -> None:
    line = headline(answer(verdict), tested)
    assert line.startswith("GET /: ")
    assert line.endswith(said)


def test_what_is_typical_is_told_from_the_means_with_single_transactions() -> None:
    few = Singles(100 * MS, 0, 1, 0.0, 600 * MS, 600 * MS, None, True, "mysql.query", "", "", (), ())
    of = replace(answer("different"), slow=replace(SOMEBODY, mean_ns=609 * MS), singles=few)
    assert headline(of, TOLD) == (
        "GET /: typically 5.00 ms → 9.00 ms (+4.00 ms); with single very long transactions 5.00 ms → 609 ms."
    )


def test_the_headline_says_that_a_few_slow_ones_can_be_alike_by_chance() -> None:
    usual, slow = replace(SOMEBODY, transactions=19), replace(SOMEBODY, transactions=2, mean_ns=9 * MS)
    said = "; but with 2 transactions against 19, what these have in common can be chance."
    assert headline(answer("selected", usual, slow), None).endswith("(+4.00 ms)" + said)
    enough = answer("selected", replace(usual, transactions=190), replace(slow, transactions=10))
    assert said not in headline(enough, None)


def test_calls_can_be_certain_where_times_are_not() -> None:
    assert of_calls_alone(GUESS, TOLD) == (
        "The times alone could be chance (p = 0.2), the number of calls could not (p < 0.001)."
    )
