"""Estimates are the multiplied sums of the sampled transactions; where a sample would be too small, all are read."""

from __future__ import annotations

import time
from collections import Counter
from types import SimpleNamespace
from typing import cast

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query import sampled as sampling
from walltime_collector.query.digest.rank import digest_of, statements
from walltime_collector.query.sampled import sampled
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.scoped import distribution as distributions
from walltime_collector.query.scoped.distribution import bin_of, distribution, durations
from walltime_collector.query.scoped.examples import slowest, typical
from walltime_collector.query.servers.rank import servers, targets
from walltime_collector.query.timeline import timeline
from walltime_collector.query.top import top_of
from walltime_collector.query.windows import Window

from tests.collector.conftest import MINUTE_NS, Stored
from tests.collector.traffic import Sent

ONE_IN = 16
HOST = Filters(host="web-1")


def hour(filters: Filters = HOST) -> Scope:
    now_ns = time.time_ns()
    return Scope(Window(now_ns - 60 * MINUTE_NS, now_ns), filters)


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch, shop: Stored) -> list[Sent]:
    """What is in the sample; from now on there are very many transactions."""
    monkeypatch.setattr(sampling, "MOST_READ", len(shop.sent) // 8)
    monkeypatch.setattr(sampling, "_ENOUGH", 10)
    monkeypatch.setattr(sampling, "_FEWEST", 5)
    monkeypatch.setattr(sampling, "_LEAST_COVERED", 0.4)  # of so few traces, one in 16 may be fewer
    rows = shop.engine.query("SELECT lower(hex(span_id)) AS span FROM sampled_transactions")
    spans = {str(row["span"]) for row in rows}
    return [each for each in shop.sent if each.span_id in spans]


def test_one_in_16_traces_is_in_the_sample_with_all_that_is_stored_of_it(shop: Stored, sample: list[Sent]) -> None:
    traces = {each.trace_id for each in sample}
    assert 0.4 < len(traces) * ONE_IN / len({each.trace_id for each in shop.sent}) < 2
    assert sample == [each for each in shop.sent if each.trace_id in traces]
    whole, part = (
        shop.engine.query(f"SELECT * FROM {table} WHERE cityHash64(trace_id) % {ONE_IN} = 0 ORDER BY trace_id, span_id")
        for table in ("transactions", "sampled_transactions")
    )
    assert whole == part


def test_estimates_are_sums_of_the_sample_times_16(shop: Stored, sample: list[Sent]) -> None:
    scope = sampled(shop.engine, hour())
    assert scope.one_in == ONE_IN
    now_ns, counted = time.time_ns(), ONE_IN * len(sample)
    time_ns = ONE_IN * sum(each.duration_ns for each in sample)

    over_time = timeline(shop.engine, scope, now_ns)
    assert (sum(over_time.transactions), sum(over_time.time_ns)) == (counted, time_ns)
    top = top_of(shop.engine, scope, now_ns)
    assert (top.transactions, top.total_ns, top.errors) == (counted, time_ns, sum(over_time.errors))
    by_kind = Counter((each.service, each.name) for each in sample)
    assert {(each.service, each.name): each.transactions for each in top.kinds} == {
        kind: ONE_IN * number for kind, number in by_kind.items()
    }
    spent_ns = {each.name: sum(each.time_ns) for each in over_time.components}
    top_ns: Counter[str] = Counter()
    for kind in top.kinds:
        top_ns.update({each.name: each.time_ns for each in kind.components})
    assert spent_ns == dict(top_ns)
    assert max(kind.max_ns for kind in top.kinds) == max(each.duration_ns for each in sample)

    known = distribution(shop.engine, scope)
    assert known.histogram() == {
        number: ONE_IN * transactions
        for number, transactions in sorted(Counter(bin_of(each.duration_ns) for each in sample).items())
    }
    numbers = durations(shop.engine, scope)
    assert (numbers.transactions, numbers.total_ns) == (counted, time_ns)
    assert sum(each.time_ns for each in targets(shop.engine, scope)) == sum(
        each.time_ns for each in servers(shop.engine, scope).servers
    )
    assert servers(shop.engine, scope).total_ns == time_ns
    digest = digest_of(shop.engine, scope, by="total", limit=100)
    assert digest.client_ns == sum(each.total_ns for each in statements(shop.engine, scope))
    assert digest.client_ns % ONE_IN == 0
    assert digest.client_ns


def test_single_transactions_are_the_true_ones(shop: Stored, sample: list[Sent]) -> None:
    scope = sampled(shop.engine, hour())
    longest = sorted(shop.sent, key=lambda each: (-each.duration_ns, each.started_ns))[:5]
    assert [each.span for each in slowest(shop.engine, scope)] == [each.span_id for each in longest]
    usual = typical(shop.engine, scope, durations(shop.engine, scope))
    assert {each.span for each in usual} <= {each.span_id for each in sample}


@pytest.mark.parametrize(
    "filters", [Filters(), Filters(service="shop"), Filters(host="web-9"), Filters(user="nobody"), Filters(service="x")]
)
def test_everything_is_read_where_it_is_summed_up_or_rare(shop: Stored, sample: list[Sent], filters: Filters) -> None:
    assert sampled(shop.engine, hour(filters)) == hour(filters) or sampled(shop.engine, hour(filters)).one_in == 1


def test_calls_are_of_a_sample_without_a_filter_too(
    shop: Stored, sample: list[Sent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_MOST_FOR_CALLS", len(shop.sent) // 8)
    assert sampled(shop.engine, hour(Filters()), is_for_calls=True).one_in == ONE_IN


def test_everything_is_read_of_a_time_that_the_sample_does_not_cover(
    shop: Stored, sample: list[Sent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_LEAST_COVERED", 3.0)  # as if most were stored before there was a sample
    assert sampled(shop.engine, hour()).one_in == 1


def test_everything_is_read_of_few_transactions(shop: Stored) -> None:
    assert sampled(shop.engine, hour()).one_in == 1


def test_of_very_many_transactions_the_heat_map_is_from_percentiles_of_each_minute(
    engine: Engine, shop: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = Scope(Window(hour().window.start_ns - 300 * MINUTE_NS, hour().window.end_ns), Filters(service="shop"))
    exact = distribution(engine, scope)
    monkeypatch.setattr(distributions, "MOST_READ", 100)
    estimate = distribution(engine, scope)
    assert (exact.is_estimated, estimate.is_estimated) == (False, True)
    assert (estimate.start_ns, estimate.step_s, estimate.steps) == (exact.start_ns, exact.step_s, exact.steps)
    for step in {each.step for each in exact.cells}:
        true, near = (
            {each.bin: each.transactions for each in known.cells if each.step == step} for known in (exact, estimate)
        )
        whole = sum(true.values())
        assert sum(near.values()) == whole
        assert max(near) == max(true)
        for number in range(min(*near, *true), max(true)):  # the shortest are an estimate as well
            below = [sum(count for each, count in cells.items() if each <= number) for cells in (true, near)]
            assert abs(below[0] - below[1]) <= 2 + whole * 0.03


def test_a_mean_is_no_sum_even_if_it_is_a_whole_number() -> None:
    row = {
        "transactions": 3,
        "cpu_mean_ns": 5_000,
        "queue_mean_ns": 2.5,
        "p50_ns": 7,
        "calls": {"a": 2},
        "steps": [[9, 1]],
    }
    engine = cast(Engine, SimpleNamespace(query=lambda *_: [row]))
    (estimate,) = sampling.run_sums(engine, "kinds/services", sample_level=4)
    assert estimate == {**row, "transactions": 48, "calls": {"a": 32}, "steps": [[9, 16]]}
