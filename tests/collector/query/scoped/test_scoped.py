"""Distribution, examples, servers and statements of a scope: against the same numbers counted one by one."""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest
from walltime_collector.query.digest.rank import statements
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.scoped.distribution import BINS, bin_of, distribution, durations, edges_ns
from walltime_collector.query.scoped.examples import slowest, typical
from walltime_collector.query.servers.rank import targets
from walltime_collector.query.windows import Window
from walltime_collector.statements.fingerprint import of_template

from tests.collector.conftest import MINUTE_NS, Stored
from tests.collector.traffic import Sent

KIND = Filters(service="shop", kind="GET /product/{id}")
SCOPES = {
    "a kind": KIND,
    "everything": Filters(),
    "a service": Filters(service="ranker"),
    "failed": Filters(status="failed"),
    "of a status": Filters(status="5xx"),
    "of a host": replace(KIND, host="web-1"),
    "of an unknown host": replace(KIND, host="web-2"),
}
LENGTHS = {"ten minutes": 10 * MINUTE_NS, "three hours": 180 * MINUTE_NS}


def is_in(sent: Sent, scope: Scope) -> bool:
    filters, window = scope.filters, scope.aligned().window
    return (
        window.start_ns <= sent.started_ns < window.end_ns
        and filters.service in ("", sent.service)
        and filters.kind in ("", sent.name)
        and filters.host in ("", "web-1")
        and (not filters.status or sent.is_error)  # all that failed have the status 500
    )


@pytest.fixture(params=list(LENGTHS.values()), ids=list(LENGTHS))
def window(request: pytest.FixtureRequest, shop: Stored) -> Window:
    end_ns = shop.sent[-1].started_ns - MINUTE_NS
    return Window(end_ns - request.param, end_ns)


@pytest.fixture(params=list(SCOPES.values()), ids=list(SCOPES))
def scope(request: pytest.FixtureRequest, window: Window) -> Scope:
    return Scope(window, request.param)


@pytest.fixture
def sent(shop: Stored, scope: Scope) -> list[Sent]:
    return [each for each in shop.sent if is_in(each, scope)]


def test_each_transaction_is_counted_in_its_step_and_bin(shop: Stored, scope: Scope, sent: list[Sent]) -> None:
    result = distribution(shop.engine, scope)
    step_ns = scope.step_s * 1_000_000_000
    counted = Counter(((each.started_ns - result.start_ns) // step_ns, bin_of(each.duration_ns)) for each in sent)
    assert {(each.step, each.bin): each.transactions for each in result.cells} == counted
    assert sum(each.total_ns for each in result.cells) == sum(each.duration_ns for each in sent)
    assert result.transactions == len(sent)
    assert list(result.histogram()) == sorted({bin_of(each.duration_ns) for each in sent})
    assert all(0 <= each.step < result.steps for each in result.cells)


def test_the_numbers_of_all_transactions_are_theirs(shop: Stored, scope: Scope, sent: list[Sent]) -> None:
    result = durations(shop.engine, scope)
    ordered = sorted(each.duration_ns for each in sent)
    assert (result.transactions, result.errors) == (len(sent), sum(each.is_error for each in sent))
    assert (result.total_ns, result.max_ns) == (sum(ordered), max(ordered, default=0))
    assert abs(bisect(ordered, result.p50_ns) - len(sent) / 2) <= 1 + len(sent) / 50
    assert result.p50_ns <= result.p95_ns <= result.p99_ns <= result.max_ns


def test_the_slowest_are_the_slowest(shop: Stored, scope: Scope, sent: list[Sent]) -> None:
    found = slowest(shop.engine, scope, limit=7)
    longest = sorted(sent, key=lambda each: (-each.duration_ns, each.started_ns))[:7]
    assert [(each.trace, each.span, each.name) for each in found] == [
        (each.trace_id, each.span_id, each.name) for each in longest
    ]


def test_the_typical_are_next_to_the_median_and_may_be_further_for_their_calls(
    shop: Stored, scope: Scope, sent: list[Sent]
) -> None:
    known = durations(shop.engine, scope)
    found, median_ns = typical(shop.engine, scope, known, limit=5), known.p50_ns

    def distance(duration_ns: int, kept: str) -> float:
        return abs(math.log((duration_ns + 1) / (median_ns + 1))) + (0 if kept else 0.3)

    least_ns, most_ns = edges_ns(bin_of(median_ns) - 2)[0], edges_ns(bin_of(median_ns) + 2)[1]
    near = [each for each in sent if least_ns <= each.duration_ns < most_ns]
    closest = sorted(distance(each.duration_ns, each.kept) for each in near)[:5]
    assert [distance(each.duration_ns, each.kept) for each in found] == pytest.approx(closest)


def of_bills(sent: list[Sent]) -> tuple[dict[Any, list[int]], dict[Any, list[int]]]:
    """What the transactions spent on each server, and on each statement."""
    of_targets: dict[Any, list[int]] = defaultdict(lambda: [0] * 5)
    of_statements: dict[Any, list[int]] = defaultdict(lambda: [0] * 3)
    for each in sent:
        bill = each.bill()
        for kind, key, sums, counters in (
            ("target", ("component", "address"), of_targets, ("calls", "time_ns", "errors", "hits", "misses")),
            ("statement", ("text",), of_statements, ("calls", "time_ns", "errors")),
        ):
            columns: list[Any] = [bill.get(f"walltime.{kind}.{name}", []) for name in (*key, *counters)]
            for row in zip(*columns, strict=True):
                name = row[: len(key)] if len(key) > 1 else of_template(row[0])
                for at, number in enumerate(row[len(key) :]):
                    sums[name][at] += number
    return of_targets, of_statements


def test_servers_and_statements_are_those_of_the_bills(shop: Stored, scope: Scope, sent: list[Sent]) -> None:
    of_targets, of_statements = of_bills(sent)
    assert {
        (each.component, each.address): [each.calls, each.time_ns, each.errors, each.hits, each.misses]
        for each in targets(shop.engine, scope)
    } == of_targets
    found = statements(shop.engine, scope)
    views = {each.fingerprint: each.client for each in found}
    assert {text: [of.calls, of.time_ns, of.errors] for text, of in views.items() if of} == of_statements
    assert [each.total_ns for each in found] == sorted((each.total_ns for each in found), reverse=True)


@pytest.mark.parametrize("bin_number", range(0, 13 * BINS))
def test_a_bin_begins_where_the_one_before_ends(bin_number: int) -> None:
    start_ns, end_ns = edges_ns(bin_number)
    assert end_ns == edges_ns(bin_number + 1)[0]
    assert bin_of((start_ns + end_ns) / 2) == bin_number
