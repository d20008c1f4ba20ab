"""`why` names the host, user, version or tenant that is slow, and none where nothing is seeded."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.errors import NotStored
from walltime_collector.query.scope import Filters
from walltime_collector.query.why.answer import Why
from walltime_collector.query.why.dimensions.effects import Side, slower
from walltime_collector.query.why.explain import explain, explain_kind
from walltime_collector.query.why.sample import sample
from walltime_collector.query.windows import Comparison, Window

from tests.by_day import by_day
from tests.collector.simulated_shop import MINUTE_NS, SECOND_NS, Page, simulate
from tests.servers import with_tables

BY_DAY, BY_NIGHT = 1, 20
USUAL_TRANSACTIONS, SLOW_TRANSACTIONS = 3_000, 1_800
USUAL = Page(
    hosts=["web-1", "web-2"],
    versions=["2.0", "2.0", "2.0", "2.1"],
    tenants=[f"tenant-{at}" for at in range(10)],
    users=40,
)
SEEDED = {
    "host": ("web-2", replace(USUAL, seeded="host=web-2", seeded_slowness=1.5)),
    "user": ("7", replace(USUAL, seeded="user=7", seeded_slowness=5)),
    "version": ("2.1", replace(USUAL, seeded="version=2.1", seeded_slowness=1.5)),
    "annotation": ("tenant=tenant-3", replace(USUAL, seeded="tenant=tenant-3", seeded_slowness=2)),
}
NOT_SEEDED = {
    "nothing": USUAL,
    "busy machine": replace(USUAL, slowness=2),
    "cache 1 emptied": replace(USUAL, hits_1=0.12),
}


@dataclass
class Days:
    """The usual page for ten minutes, then five minutes of each page; all of it so many times."""

    engine: EmbeddedEngine
    start_ns: int

    @property
    def usual(self) -> Window:
        return Window(self.start_ns, self.start_ns + 10 * MINUTE_NS)

    def window(self, case: str) -> Window:
        start_ns = self.start_ns + (10 + 5 * [*SEEDED, *NOT_SEEDED].index(case)) * MINUTE_NS
        return Window(start_ns, start_ns + 5 * MINUTE_NS)

    def compared_with_usual(self, case: str, repetition: int) -> Why:
        return explain(self.engine, name(repetition), Comparison(self.window(case), self.usual))

    def slowest(self, case: str, repetition: int) -> Why:
        return explain(self.engine, name(repetition), Comparison(self.window(case), self.window(case), 5.0))


def name(repetition: int) -> str:
    return f"GET /product/{{id}}/{repetition}"


def simulated(folder: Path, repetitions: int) -> Iterator[Days]:
    engine = EmbeddedEngine(with_tables(folder), "walltime")
    engine.migrate()
    days = Days(engine, (time.time_ns() - 60 * MINUTE_NS) // SECOND_NS * SECOND_NS)
    cases = [(page, days.window(case), SLOW_TRANSACTIONS) for case, (_, page) in SEEDED.items()]
    cases += [(page, days.window(case), SLOW_TRANSACTIONS) for case, page in NOT_SEEDED.items()]
    for seed, (page, window, transactions) in enumerate([(USUAL, days.usual, USUAL_TRANSACTIONS), *cases]):
        simulate(
            engine,
            page,
            seed=seed,
            name="GET /product/{id}/0" if repetitions == 1 else "GET /product/{id}",
            kinds=repetitions,
            transactions=repetitions * transactions,
            from_ns=window.start_ns,
            length_ns=window.end_ns - window.start_ns,
        )
    yield days
    engine.close()


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Days]:
    yield from simulated(tmp_path_factory.mktemp("days"), BY_DAY)


@pytest.fixture(scope="module")
def many_days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Days]:
    yield from simulated(tmp_path_factory.mktemp("days"), BY_NIGHT)


def test_a_version_is_named_before_the_host_that_got_it(days: Days) -> None:
    """The same transactions have both, and the host was there before."""
    both = replace(USUAL, versions=["1.0"], tenants=[*["most"] * 39, "few"])
    start_ns = days.usual.start_ns - 60 * MINUTE_NS
    before, now = (Window(start_ns + at * 10 * MINUTE_NS, start_ns + (at + 1) * 10 * MINUTE_NS) for at in range(2))
    old, new = replace(both, hosts=["web-1"]), replace(both, hosts=["web-2"], versions=["2.0"], slowness=1.5)
    for seed, (page, window) in enumerate(((both, before), (old, now), (new, now))):
        simulate(
            days.engine,
            page,
            seed=100 + seed,
            name="GET /deployed",
            transactions=USUAL_TRANSACTIONS // 2,
            from_ns=window.start_ns,
            length_ns=window.end_ns - window.start_ns,
        )
    answer = explain(days.engine, "GET /deployed", Comparison(now, before))
    (named,) = answer.dimensions
    assert (named.dimension, named.value, named.usual_transactions) == ("version", "2.0", 0), answer.sentences
    assert "host web-2" in named.same
    assert "With version 2.0, new with 50" in answer.headline
    (common,) = explain(days.engine, "GET /deployed", Comparison(now, now, when="version = 2.0")).dimensions
    # most of the others are of the tenant, too
    assert (common.dimension, common.value, common.same) == ("host", "web-2", ())


def test_a_few_very_long_transactions_of_a_new_process_hide_nothing() -> None:
    """Each block has 6 of the new version and 6 others, 40 ms and 20 ms; its first ones take a second."""

    def sums(new: bool, at: int) -> list[float]:
        times_ns = [(1_000 if new and at == 0 else 40 if new else 20) * 1_000_000 + at * 1_000 for _ in range(6)]
        return [6, sum(times_ns), sum(times_ns), sum(map(math.log, times_ns))]

    mine, others = (np.array([sums(new, at) for at in range(32)]).T for new in (True, False))
    effect = slower(Side(np.zeros_like(others), others), Side(mine, mine + others), length=1.0)
    assert effect.p_value < 1e-4


def check_seeded(answer: Why, case: str, value: str) -> None:
    (named,) = answer.dimensions
    assert (named.dimension, named.value) == (case, value), answer.sentences
    assert named.p_value < 0.005
    assert named.slow_transactions >= 20
    assert named.slower_ns > 0
    assert value in answer.headline


@pytest.mark.parametrize("case", by_day(SEEDED, 2))
def test_the_slow_one_is_named(days: Days, case: str) -> None:
    value, _ = SEEDED[case]
    answer = days.compared_with_usual(case, 0)
    check_seeded(answer, case, value)
    slowest = days.slowest(case, 0)
    check_seeded(slowest, case, value)
    assert (slowest.dimensions[0].lift or 9) > 1.5  # None: no usual transaction has the value


@pytest.mark.parametrize("case", by_day(["busy machine", "cache 1 emptied", "nothing"], 2))
def test_nobody_is_named_where_nobody_is_slower(days: Days, case: str) -> None:
    for answer in (days.compared_with_usual(case, 0), days.slowest(case, 0)):
        assert answer.dimensions == (), answer.sentences


@pytest.mark.nightly
@pytest.mark.parametrize("case", SEEDED)
def test_the_slow_one_is_named_twenty_times(many_days: Days, case: str) -> None:
    for repetition in range(BY_NIGHT):
        for answer in (many_days.compared_with_usual(case, repetition), many_days.slowest(case, repetition)):
            check_seeded(answer, case, SEEDED[case][0])


@pytest.mark.nightly
@pytest.mark.parametrize("case", NOT_SEEDED)
def test_nobody_is_named_twenty_times(many_days: Days, case: str) -> None:
    for repetition in range(BY_NIGHT):
        for answer in (many_days.compared_with_usual(case, repetition), many_days.slowest(case, repetition)):
            assert answer.dimensions == (), answer.sentences


def test_those_that_match_are_compared_with_the_others(days: Days) -> None:
    window = days.window("host")
    answer = explain(days.engine, name(0), Comparison(window, window, when="host = web-2"))
    assert answer.verdict == "different"
    assert (answer.slow.transactions, answer.usual.transactions) == tuple(
        int(row["n"])
        for row in days.engine.query(
            "SELECT count() AS n FROM transactions WHERE started_at >= fromUnixTimestamp64Nano({start:Int64})"
            " AND started_at < fromUnixTimestamp64Nano({end:Int64}) GROUP BY host ORDER BY host DESC",
            {"start": window.start_ns, "end": window.end_ns},
        )
    )
    assert answer.slow.mean_ns / answer.usual.mean_ns == pytest.approx(1.5, abs=0.15)
    assert "those with host = web-2 take" in answer.headline
    assert answer.dimensions == ()
    assert sum(each.difference_ns for each in answer.components) == pytest.approx(answer.difference_ns)


@pytest.mark.parametrize(
    ("more", "named"),
    by_day(
        [
            ("user != host", ["host"]),  # a value, and a part of another field's name, are no fields
            ("annotation.ghost = ''", ["host"]),
            ("not (duration > 1h or host = nobody)", []),
            ("HOST != nobody", []),
        ],
        2,
    ),
)
def test_only_dimensions_that_the_condition_compares_are_left_out(days: Days, more: str, named: list[str]) -> None:
    threshold_ns = days.slowest("host", 0).threshold_ns
    window = days.window("host")
    answer = explain(days.engine, name(0), Comparison(window, window, when=f"duration >= {threshold_ns}ns and {more}"))
    assert [each.dimension for each in answer.dimensions] == named


@pytest.mark.parametrize(
    ("when", "what"), [("host = nobody", "no transaction"), ("duration > 0ms", "every transaction")]
)
def test_a_condition_that_divides_nothing_is_an_error(days: Days, when: str, what: str) -> None:
    with pytest.raises(NotStored, match=what):
        explain(days.engine, name(0), Comparison(days.usual, days.usual, when=when))


def test_a_sample_names_the_slow_host_too_and_has_the_exact_means(days: Days) -> None:
    filters = Filters(service="shop", kind=name(0))
    compared = Comparison(days.window("host"), days.usual)
    of = sample(days.engine, filters, compared, enough=900, least=2)
    answer = explain_kind(days.engine, filters, compared, of)
    whole = explain(days.engine, name(0), compared)
    assert answer.sampled is not None
    assert whole.sampled is None
    assert answer.sampled.usual_of == of.usual_of > 1
    assert (answer.sampled.usual_mean_ns, answer.sampled.slow_mean_ns) == (whole.usual.mean_ns, whole.slow.mean_ns)
    assert answer.sentences[0] == whole.sentences[0]
    assert answer.sampled.usual_error is not None
    assert 0.001 < answer.sampled.usual_error < 0.2
    assert sum(each.difference_ns for each in answer.components) == pytest.approx(answer.difference_ns)
    assert [each.value for each in answer.dimensions] == ["web-2"]
