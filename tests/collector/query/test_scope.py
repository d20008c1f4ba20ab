"""The window and the filters of a question, against stored transactions."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.clickhouse.engine import Engine, Parameter
from walltime_collector.query.queries import BESIDE, query_text, run
from walltime_collector.query.scope import MOST_STEPS, Filters, Scope
from walltime_collector.query.windows import Window

from tests.collector.conftest import MINUTE_NS, Stored
from tests.collector.every_question import QUERIES, Recording

S = 1_000_000_000


@given(st.integers(0, 4_000_000_000), st.integers(1, 400 * 86_400))
def test_an_aligned_window_contains_the_window_and_has_few_steps(start_s: int, length_s: int) -> None:
    scope = Scope(Window(start_s * S + 7, (start_s + length_s) * S + 9))
    aligned = scope.aligned()
    step_ns = scope.step_s * S
    assert aligned.window.start_ns % step_ns == aligned.window.end_ns % step_ns == 0
    assert scope.window.start_ns - step_ns < aligned.window.start_ns <= scope.window.start_ns
    assert scope.window.end_ns <= aligned.window.end_ns < scope.window.end_ns + step_ns
    assert (aligned.window.end_ns - aligned.window.start_ns) // step_ns <= MOST_STEPS
    assert (aligned.step_s, aligned.aligned()) == (scope.step_s, aligned)


@pytest.mark.parametrize(
    ("filters", "in_minutes"),
    [(Filters(), True), (Filters(service="shop", kind="GET /"), True), (Filters(host="web1"), False)],
)
def test_only_service_and_kind_are_in_the_sums_per_minute(filters: Filters, in_minutes: bool) -> None:
    assert Scope(Window(0, 86_400 * S), filters).is_in_minutes is in_minutes
    assert not Scope(Window(0, 60 * S), filters).is_in_minutes


@given(st.integers(0, 4_000_000_000 * S), st.integers(1, 400 * 86_400 * S))
def test_whole_minutes_contain_the_window_and_need_no_transactions_beside_them(start_ns: int, length_ns: int) -> None:
    scope = Scope(Window(start_ns, start_ns + length_ns))
    whole = scope.in_whole_minutes()
    assert scope.window.start_ns - 60 * S < whole.window.start_ns <= scope.window.start_ns
    assert scope.window.end_ns <= whole.window.end_ns < scope.window.end_ns + 60 * S
    divided = whole.divided()
    assert int(divided["minutes_start_s"]) * S == whole.window.start_ns
    assert int(divided["minutes_end_s"]) * S == whole.window.end_ns


@pytest.mark.parametrize("name", [name for name in QUERIES if BESIDE in query_text(name)])
def test_whole_minutes_are_answered_without_the_transactions_beside_them(shop: Stored, name: str) -> None:
    start_ns = shop.sent[0].started_ns
    whole = Scope(Window(start_ns, start_ns + 10 * MINUTE_NS)).in_whole_minutes()
    steps = {"step_s": 60, "slice_ns": MINUTE_NS, "chart_step_ns": MINUTE_NS, "every": 1, "limit": 20}
    parameters: dict[str, Parameter] = {"by": "total", "component": "", "address": "", "texts": [], "system": ""}
    bounds: dict[str, Parameter] = {"kinds": ["shop\tGET /search"], "bounds_ns": [10**9], "least_bound_ns": 10**9}
    parameters |= {**whole.divided(), **steps, **bounds}
    asked = Recording(shop.engine)
    rows = run(cast(Engine, asked), name, **parameters)
    parameters.pop("where")
    assert rows == shop.engine.query(query_text(name), parameters)
    assert BESIDE not in asked.questions[name][-1][0]
    run(cast(Engine, asked), name, **{**parameters, "start_ns": whole.window.start_ns - 1})
    assert BESIDE in asked.questions[name][-1][0]
