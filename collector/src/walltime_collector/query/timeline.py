"""Transactions over time: counts, failures, percentiles, and the time by component, for each step of a window."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from ..clickhouse.engine import Engine
from .components import counters_by_component
from .queries import run
from .sampled import run_sums
from .scope import MINUTE_S, Scope, Steps
from .windows import Window

_S = 1_000_000_000


@dataclass(frozen=True)
class ComponentTimeline:
    """Sums of one component, one for each step."""

    name: str
    calls: tuple[int, ...]
    time_ns: tuple[int, ...]


@dataclass(frozen=True)
class Timeline:
    """
    Every tuple has one value for each step; a step without transactions has 0, and None where that would be a lie.

    Percentiles are estimates (t-digest); all other numbers are exact sums.
    """

    start_ns: int
    step_s: int
    transactions: tuple[int, ...]
    errors: tuple[int, ...]
    time_ns: tuple[int, ...]
    other_ns: tuple[int, ...]
    """Time in no component."""
    p50_ns: tuple[int | None, ...]
    p95_ns: tuple[int | None, ...]
    p99_ns: tuple[int | None, ...]
    components: tuple[ComponentTimeline, ...]
    """The one with the most time first."""
    whole_p50_ns: int | None
    """Of the whole window, as the next two."""
    whole_p95_ns: int | None
    whole_p99_ns: int | None
    seconds: tuple[float, ...]
    """How much of each step has passed: less than `step_s` in the last one, 0 in the future; the divisor of rates."""


def timeline(engine: Engine, scope: Scope, now_ns: int) -> Timeline:
    """
    Divide the scope's window into steps, see Steps.of; the window is widened to whole steps.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    grid = Steps.of(scope, _count(engine, scope))
    start_ns, step_ns, steps = grid.start_ns, grid.step_s * _S, range(grid.count)
    is_in_minutes = scope.filters.are_in_minutes and grid.step_s >= MINUTE_S
    scope = replace(scope, window=Window(start_ns, grid.at_ns(grid.count)))
    name = "timeline/minutes" if is_in_minutes else "timeline/transactions"
    answer = run_sums(engine, name, step_s=grid.step_s, **scope.parameters())
    rows = {row["step"]: row for row in answer if not row["is_whole"]}
    whole = next((row["percentiles_ns"] for row in answer if row["is_whole"] and row["transactions"]), None)
    calls: dict[str, dict[int, int]] = defaultdict(dict)
    times_ns: dict[str, dict[int, int]] = defaultdict(dict)
    for step, row in rows.items():
        for component, counters in counters_by_component(row).items():
            calls[component][step] = counters.get("calls", 0)
            times_ns[component][step] = counters.get("time_ns", 0)

    def sums(column: str) -> tuple[int, ...]:
        return tuple(int(rows[step][column]) if step in rows else 0 for step in steps)

    def percentiles(at: int) -> tuple[int | None, ...]:
        return tuple(round(rows[step]["percentiles_ns"][at]) if step in rows else None for step in steps)

    return Timeline(
        start_ns=start_ns,
        step_s=grid.step_s,
        transactions=sums("transactions"),
        errors=sums("errors"),
        time_ns=sums("time_ns"),
        other_ns=sums("other_ns"),
        p50_ns=percentiles(0),
        p95_ns=percentiles(1),
        p99_ns=percentiles(2),
        whole_p50_ns=whole and round(whole[0]),
        whole_p95_ns=whole and round(whole[1]),
        whole_p99_ns=whole and round(whole[2]),
        components=tuple(
            ComponentTimeline(
                component,
                tuple(calls[component].get(step, 0) for step in steps),
                tuple(times_ns[component].get(step, 0) for step in steps),
            )
            for component in sorted(times_ns, key=lambda each: (-sum(times_ns[each].values()), each))
        ),
        seconds=tuple(min(max(now_ns - start_ns - step * step_ns, 0), step_ns) / _S for step in steps),
    )


def _count(engine: Engine, scope: Scope) -> int:
    """About how many transactions the window has; 0 when the length of its steps does not depend on it."""
    if not scope.filters.are_in_minutes or scope.step_s >= MINUTE_S:
        return 0
    return int(run(engine, "timeline/count", **scope.divided())[0]["transactions"])
