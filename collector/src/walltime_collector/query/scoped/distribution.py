"""How long the transactions of a Scope took: a heat map of steps and durations, and the numbers of the whole."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...clickhouse.engine import Engine
from ..answers import from_row
from ..queries import run
from ..scope import Scope

BINS = 10
"""Bins per factor of 10; the durations of a bin differ by at most 26 %."""
MOST_READ = 400_000
"""Of more transactions, answers that need not be exact read those of every second, third … step of the window."""
_S = 1_000_000_000


@dataclass(frozen=True)
class Cell:
    """The transactions of one step and one bin. Bin n begins at 10^(n / BINS) nanoseconds."""

    step: int
    """0 is the first step of the window."""
    bin: int
    transactions: int
    total_ns: int


@dataclass(frozen=True)
class Distribution:
    """The durations of all transactions of a window of whole steps."""

    start_ns: int
    step_s: int
    steps: int
    cells: tuple[Cell, ...]
    """Only those with transactions, by step and bin."""

    @property
    def transactions(self) -> int:
        """Of all cells."""
        return sum(each.transactions for each in self.cells)

    def histogram(self) -> dict[int, int]:
        """Bin → transactions of the whole window, the shortest first."""
        counted: dict[int, int] = {}
        for each in self.cells:
            counted[each.bin] = counted.get(each.bin, 0) + each.transactions
        return dict(sorted(counted.items()))


@dataclass(frozen=True)
class Durations:
    """The numbers of all transactions of a Scope, 0 without any. Percentiles are estimates (t-digest)."""

    transactions: int
    errors: int
    total_ns: int
    max_ns: int
    p50_ns: int
    p95_ns: int
    p99_ns: int


def distribution(engine: Engine, scope: Scope) -> Distribution:
    """
    Count the transactions of the scope by step and duration; its window is widened to whole steps.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    scope = scope.aligned()
    window, step_ns = scope.window, scope.step_s * _S
    rows = run(engine, "scoped/distribution", **scope.parameters(), step_ns=step_ns, bins=BINS)
    return Distribution(
        start_ns=window.start_ns,
        step_s=scope.step_s,
        steps=(window.end_ns - window.start_ns) // step_ns,
        cells=tuple(Cell(*(int(row[name]) for name in ("step", "bin", "transactions", "total_ns"))) for row in rows),
    )


def durations(engine: Engine, scope: Scope) -> Durations:
    """
    How long the transactions of the scope took, all together.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    scope = scope.aligned()
    (row,) = run(engine, "scoped/durations", **scope.divided(scope.step_s))
    p50_ns, p95_ns, p99_ns = (round(each or 0) for each in row["percentiles_ns"])
    return from_row(Durations, row, p50_ns=p50_ns, p95_ns=p95_ns, p99_ns=p99_ns)


def edges_ns(bin_number: int) -> tuple[float, float]:
    """Where a bin begins and ends."""
    return 10 ** (bin_number / BINS), 10 ** ((bin_number + 1) / BINS)


def bin_of(duration_ns: float) -> int:
    """The bin of a duration."""
    return math.floor(math.log10(max(duration_ns, 1)) * BINS)
