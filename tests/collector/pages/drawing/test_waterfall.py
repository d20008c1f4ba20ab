"""The waterfall goes from the usual mean to the slow mean, without a step missing, on one axis."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.conversion import from_row
from walltime_collector.pages.drawing.waterfall import Waterfall, waterfall
from walltime_collector.query.components import Sums
from walltime_collector.query.why.answer import Population, Why
from walltime_collector.query.why.arithmetic import Totals, contributions
from walltime_collector.query.why.wording import shown

MS = 1_000_000
NAMES = ["mysql.query", "mysql.connect", "memcache.get", "memcache.set", "redis.get", "http.request", "render", "log"]

times = st.integers(0, 1_000).map(lambda number: number * MS)
sums = st.builds(Sums, calls=st.integers(0, 50), time_ns=times)
populations = st.builds(
    lambda other_ns, components: Totals(
        10, other_ns + sum(each.time_ns for each in components.values()), other_ns, components
    ),
    other_ns=times.map(lambda ns: ns + MS),
    components=st.dictionaries(st.sampled_from([*NAMES, "a", "b", "c", "d"]), sums),
)


def of(usual: Totals, slow: Totals) -> Waterfall:
    unknown: dict[str, Any] = {
        **dict.fromkeys(("errors", "p50_ns", "p95_ns", "p99_ns", "max_ns"), 0),
        "since": "",
        "until": "",
    }
    unknown |= dict.fromkeys(("cpu_ns", "other_on_cpu_least_ns", "other_on_cpu_most_ns", "queue_ns"))
    before, after = (
        from_row(Population, unknown, transactions=n, total_ns=ns, mean_ns=ns / n)
        for n, ns in ((each.transactions, each.total_ns) for each in (usual, slow))
    )
    why = Why(
        service="shop",
        name="GET /",
        verdict="different",
        headline="",
        sentences=(),
        slowest_percent=None,
        threshold_ns=0,
        usual=before,
        slow=after,
        difference_ns=after.mean_ns - before.mean_ns,
        typical_ns=after.mean_ns - before.mean_ns,
        p_value=None,
        calls_p_value=None,
        drift_ns=None,
        low_ns=None,
        high_ns=None,
        components=contributions(usual, slow),
        targets=(),
        statements=(),
        usual_examples=(),
        slow_examples=(),
    )
    return waterfall(replace(why, shown=shown(why)))


@given(usual=populations, slow=populations)
def test_each_step_begins_where_the_one_before_ends(usual: Totals, slow: Totals) -> None:
    steps = of(usual, slow).steps
    assert (steps[0].row.label, steps[-1].row.label) == ("usual", "selected")
    for before, step in pairwise(steps):
        assert step.start == pytest.approx(before.end, abs=0.3)
    for step in steps[1:-1]:
        assert sum(each.width for each in step.rectangles) == pytest.approx(abs(step.end - step.start), abs=0.3)
    for rectangle in (each for step in steps for each in step.rectangles):
        assert rectangle.x >= 0
        assert rectangle.width >= -0.1
        assert rectangle.x + rectangle.width <= 1_000.2
    assert len(steps) <= 2 + 9


def test_more_calls_and_slower_calls_are_parts_of_one_bar() -> None:
    usual = Totals(1, 10 * MS, 2 * MS, {"mysql.query": Sums(2, 4 * MS), "render": Sums(1, 4 * MS)})
    slow = Totals(1, 30 * MS, 2 * MS, {"mysql.query": Sums(4, 24 * MS), "render": Sums(1, 4 * MS)})
    fall = of(usual, slow)
    names = ("difference", "per transaction")
    assert [(each.row.label, *map(each.row.cells.get, names)) for each in fall.steps] == [
        ("usual", None, "10.0 ms"),
        ("mysql.query", "+20.0 ms", "4.00 ms → 24.0 ms"),
        ("selected", "+20.0 ms", "30.0 ms"),
    ]
    more, slower = fall.steps[1].rectangles
    assert (more.meaning, slower.meaning) == ("more", "slower")
    assert (more.x, more.width, slower.width) == pytest.approx((333.3, 133.3, 533.4), abs=0.2)
    assert [fall.steps[1].row.cells[name] for name in ("calls", "per call")] == ["2 → 4", "2.00 ms → 6.00 ms"]
    assert (fall.begins_ns, fall.has_more, fall.has_slower) == (0, True, True)


def test_a_small_difference_is_seen_on_an_axis_that_begins_later() -> None:
    usual = Totals(1, 100 * MS, 50 * MS, {"mysql.query": Sums(2, 50 * MS)})
    slow = Totals(1, 104 * MS, 50 * MS, {"mysql.query": Sums(2, 54 * MS)})
    fall = of(usual, slow)
    assert fall.begins_ns == 99 * MS
    assert fall.steps[1].rectangles[0].width == pytest.approx(800)
    assert not fall.has_more


def test_small_parts_are_one_step() -> None:
    usual = Totals(1, 10 * MS, 10 * MS, {})
    parts = {name: Sums(1, MS // 100) for name in NAMES[1:]}
    slow = Totals(
        1, 20 * MS + sum(each.time_ns for each in parts.values()), 10 * MS, {**parts, NAMES[0]: Sums(1, 10 * MS)}
    )
    labels = [(each.row.label, each.row.cells.get("difference")) for each in of(usual, slow).steps]
    assert labels[1:-1] == [("mysql.query", "+10.0 ms"), ("7 smaller parts", "+70.0 µs")]
