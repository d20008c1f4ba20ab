"""The timeline is the sum of the transactions that were sent, step by step, from either table."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable

import pytest
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.timeline import Timeline, timeline
from walltime_collector.query.top import top_of
from walltime_collector.query.windows import Window

from tests.collector.conftest import MINUTE_NS, Stored
from tests.collector.traffic import Sent

S = 1_000_000_000


def matching(shop: Stored, window: Window, wanted: Callable[[Sent], bool]) -> list[Sent]:
    return [each for each in shop.sent if window.start_ns <= each.started_ns < window.end_ns and wanted(each)]


def steps_of(answer: Timeline, sent: list[Sent]) -> dict[int, list[Sent]]:
    steps: dict[int, list[Sent]] = defaultdict(list)
    for each in sent:
        steps[(each.started_ns - answer.start_ns) // (answer.step_s * S)].append(each)
    return steps


CASES: list[tuple[Filters, Callable[[Sent], bool]]] = [
    (Filters(), lambda sent: True),
    (Filters(service="ranker"), lambda sent: sent.service == "ranker"),
    (Filters(service="shop", kind="GET /search"), lambda sent: sent.name == "GET /search"),
    (Filters(host="web-1", status="failed"), lambda sent: sent.is_error),
    (Filters(status="5xx"), lambda sent: sent.attributes["http.response.status_code"] == 500),
    (Filters(annotation="http.route=/cart"), lambda sent: sent.attributes["http.route"] == "/cart"),
    (Filters(service="nobody"), lambda sent: False),
]


@pytest.mark.parametrize(("filters", "wanted"), CASES)
@pytest.mark.parametrize("length_s", [300, 3_600, 86_400])
def test_every_step_has_the_sums_of_its_transactions(
    shop: Stored, length_s: int, filters: Filters, wanted: Callable[[Sent], bool]
) -> None:
    now_ns = time.time_ns()
    scope = Scope(Window(now_ns - length_s * S, now_ns), filters)
    answer = timeline(shop.engine, scope, now_ns)
    window = scope.aligned().window
    sent = matching(shop, window, wanted)
    steps = steps_of(answer, sent)

    assert answer.start_ns == window.start_ns
    assert len(answer.transactions) * answer.step_s * S == window.end_ns - window.start_ns
    for step, counted in enumerate(answer.transactions):
        mine = steps.get(step, [])
        assert counted == len(mine)
        assert answer.errors[step] == sum(each.is_error for each in mine)
        assert answer.time_ns[step] == sum(each.duration_ns for each in mine)
        calls, times_ns = Counter[str](), Counter[str]()
        for each in mine:
            for call in each.calls:
                calls[call.component] += 1
                times_ns[call.component] += call.duration_ns
        assert {each.name: each.calls[step] for each in answer.components if each.calls[step]} == calls
        assert {each.name: each.time_ns[step] for each in answer.components if each.time_ns[step]} == times_ns
        assert answer.other_ns[step] == sum(each.duration_ns for each in mine) - sum(times_ns.values())
    if sent:
        durations = sorted(each.duration_ns for each in sent)
        for part, estimate in ((0.5, answer.whole_p50_ns), (0.95, answer.whole_p95_ns), (0.99, answer.whole_p99_ns)):
            assert estimate is not None
            below = sum(duration <= estimate for duration in durations) / len(durations)
            assert below == pytest.approx(part, abs=max(0.02, 2 / len(durations)))
    else:
        assert (answer.whole_p50_ns, answer.components) == (None, ())


def test_a_step_without_transactions_has_no_percentiles_and_only_past_time_counts_for_rates(shop: Stored) -> None:
    now_ns = time.time_ns()
    answer = timeline(shop.engine, Scope(Window(now_ns - 60 * MINUTE_NS, now_ns)), now_ns)

    for counted, p50_ns in zip(answer.transactions, answer.p50_ns, strict=True):
        assert (p50_ns is None) == (counted == 0)
    assert set(answer.seconds[:-1]) == {float(answer.step_s)}
    assert sum(answer.seconds) == pytest.approx((now_ns - answer.start_ns) / S)


@pytest.mark.parametrize(("filters", "wanted"), CASES)
@pytest.mark.parametrize(("start_s", "end_s"), [(600, 0), (431, 17), (300, 299), (200, 150), (90_000, 1)])
def test_top_of_any_window_is_that_of_its_transactions(
    shop: Stored, start_s: int, end_s: int, filters: Filters, wanted: Callable[[Sent], bool]
) -> None:
    now_ns = time.time_ns()
    window = Window(now_ns - start_s * S, now_ns - end_s * S)
    sent = matching(shop, window, wanted)
    top = top_of(shop.engine, Scope(window, filters), now_ns, limit=100)

    assert {(kind.service, kind.name): kind.transactions for kind in top.kinds} == Counter(
        (each.service, each.name) for each in sent
    )
    assert top.total_ns == sum(each.duration_ns for each in sent)
    assert top.errors == sum(each.is_error for each in sent)
    for kind in top.kinds:
        mine = [each for each in sent if (each.service, each.name) == (kind.service, kind.name)]
        assert kind.max_ns == max(each.duration_ns for each in mine)
        assert sum(each.calls for each in kind.components) == sum(len(each.calls) for each in mine)
        assert kind.cpu_mean_ns is not None
