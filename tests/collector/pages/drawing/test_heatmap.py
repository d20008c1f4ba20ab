"""The heat map keeps every transaction, and its table has the same numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.pages.drawing.heatmap import heat_map
from walltime_collector.query.scoped.distribution import BINS, Cell, Distribution, Durations, edges_ns

DURATIONS = Durations(0, 0, 0, 0, p50_ns=1, p95_ns=2, p99_ns=3)
CELLS = st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 12 * BINS)), st.integers(1, 10**9), max_size=40)


@given(CELLS)
def test_every_transaction_is_in_one_cell_one_bar_and_one_row(counts: dict[tuple[int, int], int]) -> None:
    cells = tuple(Cell(step, number, each, each) for (step, number), each in sorted(counts.items()))
    result = heat_map(Distribution(60_000_000_000, 30, 10, cells), DURATIONS)
    drawn = {
        (step, result.first_bin + at): transactions
        for step, column in enumerate(result.columns)
        for at, transactions in enumerate(column)
        if transactions
    }
    assert drawn == counts
    assert result.is_empty is (not counts)
    assert result.start_s == 60
    assert sum(result.histogram) == sum(each.transactions for each in result.rows) == sum(counts.values())
    assert result.most == max(counts.values(), default=0)


def test_a_row_says_from_where_to_where_its_durations_are() -> None:
    cells = (Cell(0, 60, 1, 1), Cell(0, 59, 1, 1))
    result = heat_map(Distribution(0, 30, 1, cells), DURATIONS)
    assert [each.label for each in result.rows] == ["1.00 to 1.26 ms", "794 µs to 1.00 ms"]
    assert [round(each) for each in result.edges_ns] == [794_328, 1_000_000, 1_258_925]
    assert edges_ns(60) == (result.edges_ns[1], edges_ns(61)[0])
