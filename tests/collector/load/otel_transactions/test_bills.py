"""Bills of derived transactions: SQL and a simple program compute the same, to the nanosecond."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.load.otel_transactions.windows import Window, assemble
from walltime_collector.query.after_response import after_response
from walltime_collector.query.components import counters_by_component

from tests.collector.clickhouse.spans import store
from tests.collector.load.otel_transactions.traces import Billed, bills, requests, trace

TRACES = 300
BILLS = """
SELECT
    lower(hex(trace_id)) AS trace, lower(hex(span_id)) AS span,
    * EXCEPT (trace_id, span_id, parent_span_id, started_at)
FROM transactions
WHERE kept = 'foreign'
"""
LAST = [0]


def assemble_all(engine: Engine) -> int:
    """Assemble everything since the last call, as one window."""
    since_s, until_s = LAST[0] or int(time.time()) - 3600, int(time.time()) + 1
    LAST[0] = until_s
    roots = assemble(engine, Window(since_s, until_s))
    time.sleep(max(0.0, until_s - time.time()))
    return roots


def as_billed(row: Mapping[str, Any]) -> Billed:
    counters = counters_by_component(row)
    components = {
        name: tuple(counted.get(each, 0) for each in ("calls", "time_ns", "max_ns", "errors"))
        for name, counted in counters.items()
    }
    targets = {
        (component, address): (calls, time_ns, errors)
        for component, address, calls, time_ns, errors in zip(
            *(row[f"target.{each}"] for each in ("component", "address", "calls", "time_ns", "errors")), strict=True
        )
    }
    statements = {
        text: (calls, time_ns, errors)
        for text, calls, time_ns, errors in zip(
            *(row[f"statement.{each}"] for each in ("text", "calls", "time_ns", "errors")), strict=True
        )
    }
    after = after_response(row["attributes"])
    late = {each.component: (each.calls, each.time_ns, 0, each.errors) for each in after.components} if after else {}
    late_ns = after.duration_ns if after else 0
    return Billed(row["covered_ns"], components, targets, statements, late, late_ns)  # type: ignore[arg-type]


def without_longest(billed: Billed) -> Billed:
    """Servers and statements have no longest call; rows without calls and time are left out."""
    components = {name: counted for name, counted in billed.components.items() if any(counted)}
    targets, statements = (
        {key: (calls, time_ns, errors) for key, (calls, time_ns, _, errors) in of.items() if calls or time_ns}
        for of in (billed.targets, billed.statements)
    )
    late = {name: (calls, time_ns, 0, errors) for name, (calls, time_ns, _, errors) in billed.late.items()}
    return Billed(billed.covered_ns, components, targets, statements, late, billed.late_ns)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 22))])
def test_bills_are_those_of_a_simple_program(engine: Engine, seed: int) -> None:
    chance = random.Random(seed)
    now_ns = time.time_ns() - 10**9
    spans = [each for _ in range(TRACES) for each in trace(chance, now_ns)]
    chance.shuffle(spans)
    store(engine, requests(spans[::2]))
    store(engine, requests(spans[1::2]))
    assemble_all(engine)
    expected = {key: without_longest(billed) for key, billed in bills(spans).items()}
    traces = {each.trace_id.hex() for each in spans}
    actual = {(row["trace"], row["span"]): as_billed(row) for row in engine.query(BILLS) if row["trace"] in traces}
    assert len(expected) > TRACES / 2
    assert sum(len(each.components) for each in expected.values()) > TRACES
    assert sum(len(each.late) for each in expected.values()) > TRACES / 20
    assert set(actual) == set(expected)
    assert [(key, actual[key], expected[key]) for key in expected if actual[key] != expected[key]][:1] == []
