"""The heat map of a kind's durations, with their histogram beside it. static/heatmap.js draws it."""

from __future__ import annotations

from dataclasses import dataclass

from ...format import duration
from ...query.scoped.distribution import Distribution, Durations, edges_ns


@dataclass(frozen=True)
class Row:
    """The transactions with a duration of one bin."""

    label: str
    """`7.94 to 10.0 ms`"""
    transactions: int
    share: float


@dataclass(frozen=True)
class HeatMap:
    """Steps of time × bins of durations."""

    start_s: int
    step_s: int
    steps: int
    first_bin: int
    edges_ns: tuple[float, ...]
    """Of all bins from the first to the last one, one more than there are bins."""
    columns: tuple[tuple[int, ...], ...]
    """For each step the transactions of each bin; empty for a step without transactions."""
    histogram: tuple[int, ...]
    """Of each bin, over the whole window."""
    percentiles_ns: tuple[tuple[str, int], ...]
    rows: tuple[Row, ...]
    """The histogram as a table, the longest durations first."""
    is_estimated: bool
    """See Distribution."""

    @property
    def most(self) -> int:
        """Transactions of the darkest cell."""
        return max((max(column) for column in self.columns if column), default=0)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not self.histogram


def heat_map(known: Distribution, durations: Durations) -> HeatMap:
    """Arrange the cells by step; `durations` has the percentiles."""
    counted = known.histogram()
    first, last = (min(counted), max(counted)) if counted else (0, -1)
    columns: list[list[int]] = [[] for _ in range(known.steps)]
    for cell in known.cells:
        if not columns[cell.step]:
            columns[cell.step] = [0] * (last - first + 1)
        columns[cell.step][cell.bin - first] = cell.transactions
    histogram = tuple(counted.get(each, 0) for each in range(first, last + 1))
    whole = max(sum(histogram), 1)
    rows = [Row(_label(first + at), each, each / whole) for at, each in enumerate(histogram) if each]
    return HeatMap(
        start_s=known.start_ns // 1_000_000_000,
        step_s=known.step_s,
        steps=known.steps,
        first_bin=first,
        edges_ns=tuple(round(edges_ns(each)[0], 1) for each in range(first, last + 2)) if counted else (),
        columns=tuple(map(tuple, columns)),
        histogram=histogram,
        percentiles_ns=(("p50", durations.p50_ns), ("p95", durations.p95_ns), ("p99", durations.p99_ns)),
        rows=tuple(reversed(rows)),
        is_estimated=known.is_estimated,
    )


def _label(bin_number: int) -> str:
    """From where to where a bin is; the unit is written once when both ends have it."""
    start, end = (duration(edge) for edge in edges_ns(bin_number))
    number, _, unit = start.rpartition(" ")
    return f"{number} to {end}" if end.endswith(f" {unit}") else f"{start} to {end}"
