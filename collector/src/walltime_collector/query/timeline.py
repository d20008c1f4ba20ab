"""Transactions over time: counts, failures, percentiles, and the time by component, for each step of a window."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..clickhouse.engine import Engine
from ..conversion import from_row
from .components import counters_by_component
from .sampled import run_sums, transactions_about
from .scope import MINUTE_S, Scope, Steps
from .windows import Window

_SUMS = ("transactions", "errors", "time_ns", "other_ns")
_PERCENTILES = ("p50_ns", "p95_ns", "p99_ns")


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
    is_in_minutes = scope.filters.are_in_minutes and grid.step_s >= MINUTE_S
    scope = replace(scope, window=Window(grid.start_ns, grid.at_ns(grid.count)))
    name = "timeline/minutes" if is_in_minutes else "timeline/transactions"
    answer = run_sums(engine, name, step_s=grid.step_s, **scope.parameters())
    rows = {row["step"]: row for row in answer if not row["is_whole"]}
    whole = next((row for row in answer if row["is_whole"] and row["transactions"]), None)
    steps = [rows.get(step) for step in range(grid.count)]
    counters = [counters_by_component(row) if row else {} for row in steps]
    components = [
        ComponentTimeline(
            component,
            tuple(each.get(component, {}).get("calls", 0) for each in counters),
            tuple(each.get(component, {}).get("time_ns", 0) for each in counters),
        )
        for component in dict.fromkeys(name for each in counters for name in each)
    ]
    return from_row(
        Timeline,
        {name: tuple(row[name] if row else 0 for row in steps) for name in _SUMS},
        start_ns=grid.start_ns,
        step_s=grid.step_s,
        **{name: tuple(round(row[name]) if row else None for row in steps) for name in _PERCENTILES},
        **{f"whole_{name}": round(whole[name]) if whole else None for name in _PERCENTILES},
        components=tuple(sorted(components, key=lambda each: (-sum(each.time_ns), each.name))),
        seconds=grid.seconds(scope.window, now_ns),
    )


def _count(engine: Engine, scope: Scope) -> int:
    """About how many transactions the window has; 0 when the length of its steps does not depend on it."""
    if not scope.filters.are_in_minutes or scope.step_s >= MINUTE_S:
        return 0
    return transactions_about(engine, scope)
