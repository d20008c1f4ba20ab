"""How long the transactions of a Scope took: a heat map of steps and durations, and the numbers of the whole."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...clickhouse.engine import Engine
from ...conversion import from_row
from ..queries import Row, run
from ..sampled import run_sums, transactions_about
from ..scope import Scope

BINS = 10
"""Bins per factor of 10; the durations of a bin differ by at most 26 %."""
MOST_READ = 400_000
"""Of more transactions, the heat map is estimated."""
_LEVELS = (0.0, 0.001, 0.005, 0.01, *(at / 40 for at in range(1, 40)), 0.99, 0.995, 0.999, 0.9995, 0.9999, 1.0)
"""Of the percentiles in queries/scoped/distribution_minutes.sql, and of the longest duration."""
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
    is_estimated: bool = False
    """The transactions of a step are exact, and the longest one; how they divide into bins is from percentiles."""

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

    Of more than MOST_READ transactions, estimate it from the percentiles of each minute.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    scope = scope.aligned()
    window, step_ns = scope.window, scope.step_s * _S
    is_estimated = scope.is_in_minutes and transactions_about(engine, scope) > MOST_READ
    if is_estimated:
        rows = run(engine, "scoped/distribution_minutes", **scope.parameters(), step_s=scope.step_s)
        cells = tuple(cell for row in rows for cell in _estimated(row))
    else:
        rows = run_sums(engine, "scoped/distribution", **scope.parameters(), step_ns=step_ns, bins=BINS)
        cells = tuple(from_row(Cell, row) for row in rows)
    steps = (window.end_ns - window.start_ns) // step_ns
    return Distribution(window.start_ns, scope.step_s, steps, cells, is_estimated)


def _estimated(row: Row) -> Iterator[Cell]:
    """The cells of a step: between two percentiles, durations are taken as evenly spread on the logarithmic scale."""
    ends = np.log10(np.clip([*row["percentiles_ns"], row["max_ns"]], 1, max(row["max_ns"], 1))) * BINS
    bins = np.arange(math.floor(ends[0]), math.floor(ends[-1]) + 1)
    most = [row["transactions"] - 1] * (len(bins) - 1) + [row["transactions"]]  # the longest is exact
    until = np.minimum(np.rint(row["transactions"] * np.interp(bins + 1, ends, _LEVELS)), most)
    for number, transactions in zip(bins.tolist(), np.diff(until, prepend=0).tolist(), strict=True):
        if transactions:
            middle_ns = 10 ** ((number + 0.5) / BINS)
            yield Cell(row["step"], number, int(transactions), round(transactions * middle_ns))


def durations(engine: Engine, scope: Scope) -> Durations:
    """
    How long the transactions of the scope took, all together.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    scope = scope.aligned()
    (row,) = run_sums(engine, "scoped/durations", **scope.divided(scope.step_s))
    return from_row(Durations, row)


def edges_ns(bin_number: int) -> tuple[float, float]:
    """Where a bin begins and ends."""
    return 10 ** (bin_number / BINS), 10 ** ((bin_number + 1) / BINS)


def bin_of(duration_ns: float) -> int:
    """The bin of a duration."""
    return math.floor(math.log10(max(duration_ns, 1)) * BINS)
